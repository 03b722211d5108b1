#include "same_bits.hpp"

#include <gtest/gtest.h>

namespace cmm::cli {
namespace {

// Each m meets every number of ranks; algorithms, types and pieces take turns.
// same_bits_long_test is the whole cross.
TEST_P(EachIsa, HasOneResultForEveryWayToRunIt) {
  OneResult result;
  int turn = 0;
  for (std::int64_t m : {0, 1, 2, 3, 7, 8, 15, 16, 17, 64, 257}) {
    for (int ranks : kRankCounts) {
      for (int i = 0; i < 2; ++i) {
        Problem p = base_problem(GetParam(), kDTypes[turn % 3], m);
        p.ranks = ranks;
        p.pieces = 1 + turn / 3 % 4;
        use_algorithm(p, kAllAlgorithms[turn % 5]);
        result.expect(p);
        ++turn;
      }
    }
  }
  EXPECT_EQ(result.num_solved(), 11 * 8 * 2);
}

TEST_P(EachIsa, HasOneResultForEveryDistributionOfRows) {
  OneResult result;
  int turn = 0;
  for (std::int64_t m : {1, 5, 16, 67}) {
    for (int ranks : {2, 3, 8}) {
      for (int kind : {0, 1, 2}) {
        Problem p = base_problem(GetParam(), kDTypes[turn % 3], m);
        p.ranks = ranks;
        p.rows = uneven_rows(m, ranks, kind);
        p.pieces = 1 + turn % 2;
        use_algorithm(p, kAllAlgorithms[turn % 5]);
        result.expect(p);
        ++turn;
      }
    }
  }
}

TEST_P(EachIsa, HasOneResultForThreadsSidesAndStoredForm) {
  OneResult result;
  for (DType dtype : kDTypes) {
    for (DType out_dtype : kDTypes) {
      for (std::int64_t m : {3, 65}) {
        for (int threads : {1, 3}) {
          for (bool transpose_y : {false, true}) {
            Problem p = base_problem(GetParam(), dtype, m);
            p.out_dtype = out_dtype;
            p.threads = threads;
            p.num_weights = 2;
            p.transpose_y = transpose_y;
            result.expect(p);
          }
        }
      }
    }
  }
}

// A hash that is always the same would pass all of the above.
TEST(OneResultItself, DiffersForOtherSeeds) {
  Problem p = base_problem(Isa::kPortable, DType::kF32, 5);
  const std::uint64_t one = hash_of(solve(p));
  p.seed = 2;
  EXPECT_NE(hash_of(solve(p)), one);
}

TEST(OneResultItself, IsTheSameOnAllInstructionSetsThatFollowTheChain) {
  for (DType dtype : kDTypes) {
    const std::uint64_t portable = hash_of(solve(base_problem(Isa::kPortable, dtype, 40)));
    for (Isa isa : {Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16}) {
      if (!isa_supported(isa) || (isa == Isa::kAvx512Bf16 && dtype == DType::kBF16)) continue;
      EXPECT_EQ(hash_of(solve(base_problem(isa, dtype, 40))), portable) << isa_name(isa);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, EachIsa, kIsas, isa_test_name);

}  // namespace
}  // namespace cmm::cli
