// A ring all-gather on virtual devices: no false alarm in any mode, and a fault wherever something
// is missing.
#include "tpu/interpret/ring_programs.hpp"

namespace cmm::tpu {
namespace {

void expect_gathered(const RunResult& result, int num_devices) {
  std::vector<float> expected;
  for (int device = 0; device < num_devices; ++device) {
    for (int i = 0; i < 8 * 128; ++i) expected.push_back(static_cast<float>(10000 * device + i));
  }
  ASSERT_EQ(result.outputs.size(), static_cast<std::size_t>(num_devices));
  for (const std::vector<Array>& outputs : result.outputs) {
    ASSERT_EQ(values_of<float>(outputs.at(0)), expected);
  }
}

class Ring : public testing::TestWithParam<int> {};

TEST_P(Ring, GathersInEveryModeAndOrder) {
  const int P = GetParam();
  const Program program = ring_all_gather(P);
  ASSERT_EQ(check_program(program, v6e()), "");
  const auto inputs = numbered_inputs(program);
  for (const CopyMode copies : kCopyModes) {
    for (int late = -1; late < P; ++late) {
      for (const int num_calls : {1, 3}) {
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
          const RunResult result =
              run(program, v6e(), inputs,
                  {.seed = seed, .copies = copies, .late_device = late, .num_calls = num_calls});
          ASSERT_FALSE(result.fault) << fault_text(result) << "\nseed " << seed;
          expect_gathered(result, P);
          EXPECT_EQ(result.remote_bytes, num_calls * P * (P - 1) * 8 * 128 * 4);
          EXPECT_EQ(result.local_bytes, num_calls * P * 8 * 128 * 4);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Ring, testing::Values(1, 2, 3, 4, 5));

}  // namespace
}  // namespace cmm::tpu
