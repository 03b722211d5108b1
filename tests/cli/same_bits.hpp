// The promise that a problem has one result: whatever the ranks, algorithm, pieces and rows, the
// same bits, which are those of the reference product.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>

#include "problem.hpp"
#include "self_test.hpp"
#include "solve_on_threads.hpp"

namespace cmm::cli {

// Solves problems and compares the hash of each with that of its operands' first solution, every
// element of which is compared with the reference product.
class OneResult {
 public:
  void expect(const Problem& problem) {
    const Solution solution = solve(problem);
    const std::uint64_t hash = hash_of(solution);
    const auto key = std::tuple(problem.m, problem.k, problem.n, problem.num_weights, problem.dtype,
                                problem.output_dtype(), solution.definition.chain);
    const auto [known, is_new] = hashes_.try_emplace(key, hash);
    if (is_new) {
      const Comparison comparison = check_outputs(solution);
      EXPECT_EQ(comparison.mismatches, 0)
          << problem_text(problem) << ": " << comparison.first_mismatch;
    }
    EXPECT_EQ(hash, known->second) << problem_text(problem);
    ++num_solved_;
  }
  int num_solved() const { return num_solved_; }

 private:
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, int, DType, DType, Chain>,
           std::uint64_t>
      hashes_;
  int num_solved_ = 0;
};

// Rows for `ranks` ranks that sum to m, some of them 0: kind 0 all on the last rank, 1 on every
// other rank, 2 descending to nothing.
inline std::vector<std::int64_t> uneven_rows(std::int64_t m, int ranks, int kind) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(ranks), 0);
  std::int64_t left = m;
  for (int r = 0; r + 1 < ranks; ++r) {
    const bool holds_some = kind == 2 || (kind == 1 && r % 2 == 0);
    const std::int64_t share = holds_some ? (left + 1) / 2 : 0;
    rows[static_cast<std::size_t>(r)] = share;
    left -= share;
  }
  rows.back() = left;
  return rows;
}

inline Problem base_problem(Isa isa, DType dtype, std::int64_t m) {
  Problem p;
  p.isa = isa;
  p.engine = Engine::kOwn;
  p.dtype = dtype;
  p.m = m;
  p.k = 101;  // primes: no block or panel divides them
  p.n = 127;
  return p;
}

inline void use_algorithm(Problem& p, Algorithm algorithm) {
  p.algorithm = algorithm;
  p.hosts = algorithm == Algorithm::kHierarchical ? (p.ranks % 3 == 0 ? 3
                                                     : p.ranks > 1    ? 2
                                                                      : 1)
                                                  : 0;
}

inline constexpr int kRankCounts[] = {1, 2, 3, 4, 5, 7, 8, 16};
inline constexpr DType kDTypes[] = {DType::kF32, DType::kBF16, DType::kF16};

class EachIsa : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!isa_supported(GetParam())) GTEST_SKIP() << isa_name(GetParam());
  }
};
inline std::string isa_test_name(const testing::TestParamInfo<Isa>& info) {
  return std::string(isa_name(info.param));
}
inline const auto kIsas =
    testing::Values(Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16);

}  // namespace cmm::cli
