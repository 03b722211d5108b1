// Random problems with late and failing ranks. The first argument names how many cases and, if
// given, the second the first seed: `api_random_test 5000 1`.
#include <cstdlib>

#include "random_cases.hpp"

namespace {

unsigned num_cases = 400;
unsigned first_seed = 1;

TEST(Random, ProblemsWithLateAndFailingRanks) {
  for (unsigned seed = first_seed; seed < first_seed + num_cases; ++seed) {
    cmm::test::run_random_case(seed);
    if (HasFailure()) break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) num_cases = static_cast<unsigned>(std::atoi(argv[1]));
  if (argc > 2) first_seed = static_cast<unsigned>(std::atoi(argv[2]));
  return RUN_ALL_TESTS();
}
