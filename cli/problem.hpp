// A made-up problem: what `cmm run`, `plan`, `check` and `bench` compute.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "buffer.hpp"
#include "cmm/cmm.hpp"
#include "output_hash.hpp"
#include "reference_product.hpp"

namespace cmm::cli {

struct Problem {
  int ranks = 2;
  int threads = 1;  // of each rank
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;              // of each right side, over all ranks
  std::vector<std::int64_t> rows;  // empty: even
  DType dtype = DType::kBF16;
  std::optional<DType> out_dtype;
  Algorithm algorithm = Algorithm::kAuto;
  int pieces = 0;
  int hosts = 0;
  bool transpose_y = false;
  int num_weights = 1;  // right sides per gather
  std::uint64_t seed = 1;
  std::optional<Isa> isa;
  Engine engine = Engine::kAuto;
  std::chrono::milliseconds deadline{60'000};

  DType output_dtype() const { return out_dtype.value_or(dtype); }
  double flops() const;  // 2 m k n per right side
};

// The rows of x and the columns of every right side that `rank` holds.
struct RankPart {
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t first_col = 0;
  std::int64_t cols = 0;
};
RankPart part_of(const Problem& problem, int rank);

ProblemShape shape_of(const Problem& problem, int rank);
Options options_of(const Problem& problem);

// Throws Error(kInvalidArgument) where m * k, k * n or m * n elements are more bytes than int64
// counts.
void check_sizes(const Problem& problem);
// x, weights in both forms while they are packed, and outputs; saturates.
std::int64_t problem_bytes(const Problem& problem);

// x and the outputs of all ranks. Ranks fill and read their own parts; x is also whole in one
// place, so that a product of the gathered x needs no gather.
class ProblemData {
 public:
  explicit ProblemData(const Problem& problem);

  // To be called by the thread of the rank, so that its memory lies near it.
  void fill_x(int rank);
  std::vector<Weights> make_weights(int rank) const;

  ConstMatrixRef x() const { return x_.ref(); }
  ConstMatrixRef x_local(int rank);
  std::vector<MatrixRef> out(int rank);  // one per right side
  // Overwrites a rank's outputs with NaN, so that what a call leaves out shows.
  void poison_out(int rank);

  std::vector<std::vector<OutputSlice>> output_slices() const;  // per right side
  std::uint64_t hash() const;

  const Problem& problem() const { return problem_; }

 private:
  Problem problem_;
  Matrix x_;                              // [m, k]
  std::vector<std::vector<Matrix>> out_;  // [rank][right side], each [m, cols of the rank]
};

// Which definition the result follows (docs/numerics.md).
struct ResultDefinition {
  Chain chain = Chain::kFma;
  bool any_order = false;  // a library engine promises no order of the sum
};
// `engine`: that of the packed weights.
ResultDefinition definition_of(const Problem& problem, Engine engine);
std::string definition_text(const ResultDefinition& definition);
Isa isa_of(const Problem& problem);  // the one asked for, or default_isa()

// Compares all outputs of all ranks, on all cores.
Comparison check_outputs(const ProblemData& data, const ResultDefinition& definition,
                         const std::function<void(double)>& progress = {});

// Runs the problem once: ranks, plans, data, one call. For `cmm check` and tests.
struct Solution {
  ProblemData data;
  ResultDefinition definition;
};
Solution solve(const Problem& problem);

}  // namespace cmm::cli
