// The whole cross of what same_bits_test samples.
#include <gtest/gtest.h>

#include "same_bits.hpp"

namespace cmm::cli {
namespace {

TEST_P(EachIsa, HasOneResultForEveryWayToRunIt) {
  for (DType dtype : kDTypes) {
    OneResult result;
    for (std::int64_t m : {0, 1, 2, 3, 7, 8, 15, 16, 17, 64, 257, 1024}) {
      for (int ranks : kRankCounts) {
        for (Algorithm algorithm : kAllAlgorithms) {
          for (int pieces : {1, 2, 3, 4}) {
            Problem p = base_problem(GetParam(), dtype, m);
            p.ranks = ranks;
            p.pieces = pieces;
            use_algorithm(p, algorithm);
            result.expect(p);
          }
          for (int kind : {0, 1, 2}) {
            Problem p = base_problem(GetParam(), dtype, m);
            p.ranks = ranks;
            p.rows = uneven_rows(m, ranks, kind);
            use_algorithm(p, algorithm);
            result.expect(p);
          }
        }
      }
    }
    EXPECT_EQ(result.num_solved(), 12 * 8 * 5 * 7);
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, EachIsa, kIsas, isa_test_name);

}  // namespace
}  // namespace cmm::cli
