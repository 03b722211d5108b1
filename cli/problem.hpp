// A made-up problem: what `cmm run`, `plan`, `check` and `bench` compute.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "buffer.hpp"
#include "cmm/cmm.hpp"
#include "machine_peak.hpp"
#include "output_hash.hpp"
#include "reference_product.hpp"
#include "world.hpp"

namespace cmm::cli {

struct Problem {
  int ranks = 2;
  int threads = 1;  // of each rank
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;                   // of each right side, over all ranks
  std::vector<std::int64_t> rows = {};  // empty: even
  DType dtype = DType::kBF16;
  std::optional<DType> out_dtype = {};
  Algorithm algorithm = Algorithm::kAuto;
  int pieces = 0;
  int hosts = 0;
  Network network = {};
  bool transpose_y = false;
  int num_weights = 1;  // right sides per gather
  std::uint64_t seed = 1;
  std::optional<Isa> isa = {};
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

// x and the outputs of this process's ranks, which fill and read their own parts. Where it holds
// all ranks, x is whole in one place, so that a product of the gathered x needs no gather.
class ProblemData {
 public:
  ProblemData(World& world, const Problem& problem);

  // To be called by the thread of the rank, so that its memory lies near it.
  void fill_x(int rank);
  std::vector<Weights> make_weights(int rank) const;

  bool holds_whole_x() const { return ranks_.count == problem_.ranks; }
  ConstMatrixRef x() const { return x_.ref(); }  // the rows of all ranks of this process
  ConstMatrixRef x_local(int rank);
  std::vector<MatrixRef> out(int rank);  // one per right side
  // Overwrites a rank's outputs with NaN, so that what a call leaves out shows.
  void poison_out(int rank);

  std::vector<std::vector<OutputSlice>> output_slices() const;  // per right side

  const Problem& problem() const { return problem_; }

 private:
  std::vector<Matrix>& sides_of(int rank) {
    return out_[static_cast<std::size_t>(rank - ranks_.first)];
  }

  Problem problem_;
  RankRange ranks_;
  Matrix x_;                              // [rows of ranks_, k]
  std::vector<std::vector<Matrix>> out_;  // [rank][right side], each [m, cols of the rank]
};

// Of all ranks' outputs. Collective over the processes.
std::uint64_t output_hash(World& world, const ProblemData& data);

// The cores that the threads of all ranks can use.
CoresInUse cores_in_use(const World& world, const Problem& problem);

// Which definition the result follows (docs/numerics.md).
struct ResultDefinition {
  Chain chain = Chain::kFma;
  bool any_order = false;  // a library engine promises no order of the sum
};
// `engine`: that of the packed weights.
ResultDefinition definition_of(const Problem& problem, Engine engine);
std::string definition_text(const ResultDefinition& definition);
Isa isa_of(const Problem& problem);  // the one asked for, or default_isa()

// Compares all outputs of all ranks, on all cores. Collective over the processes.
Comparison check_outputs(World& world, const ProblemData& data, const ResultDefinition& definition,
                         const std::function<void(double)>& progress = {});

// Runs the problem once: ranks, plans, data, one call. For `cmm check` and tests. Collective over
// the processes; errors in the problem are AgreedError.
struct Solution {
  ProblemData data;
  ResultDefinition definition;
};
Solution solve(World& world, const Problem& problem);

// Plan::make on a rank of a World: errors in the problem, which it gives all ranks alike, are
// AgreedError.
Plan make_plan(const Axis& axis, const ProblemShape& shape, const Options& options);

}  // namespace cmm::cli
