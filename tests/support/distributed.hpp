// Runs the operation on ranks that are threads, on buffers between guard pages, and compares every
// bit of every output with the oracle.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/integers.hpp"
#include "base/text.hpp"
#include "cmm/cmm.hpp"
#include "support/oracle.hpp"
#include "support/stored.hpp"

namespace cmm::test {

// How the right sides of a problem are given to a call. kMixed: every second one is a view.
enum class Given { kPacked, kView, kMixed };

struct Problem {
  std::int64_t m = 1;
  std::int64_t k = 1;
  std::vector<std::int64_t> n = {1};  // global columns of each right side
  DType dtype = DType::kF32;
  DType out_dtype = DType::kF32;
  bool bias = false;
  bool swiglu = false;
  bool transposed = false;
  bool gathered = false;
  std::vector<Activation> activations = {};
  std::vector<std::int64_t> rows = {};  // of each rank; empty: even
  unsigned seed = 1;
  Given given = Given::kPacked;
};

// The problem's operands and the output they must give under one rule of summation.
class Reference {
 public:
  Reference(const Problem& problem, SumRule rule)
      : problem_(problem), x_(random_values(problem.m, problem.k, problem.dtype, problem.seed)) {
    for (std::size_t side = 0; side < problem.n.size(); ++side) {
      const auto seed = static_cast<unsigned>(problem.seed + 1 + side);
      y_.push_back(random_values(problem.k, problem.n[side], problem.dtype, seed));
      bias_.push_back(problem.bias ? random_values(1, problem.n[side], DType::kF32, seed + 100)
                                   : Values(1, problem.n[side]));
    }
    const std::size_t num_outputs = problem.swiglu ? 1 : problem.n.size();
    for (std::size_t side = 0; side < num_outputs; ++side) out_.push_back(outputs(side, rule));
  }

  const Problem& problem() const { return problem_; }
  const Values& x() const { return x_; }
  const Values& y(std::size_t side) const { return y_[side]; }
  const Values& bias(std::size_t side) const { return bias_[side]; }
  std::size_t num_outputs() const { return out_.size(); }
  // Bits of out [m, n] of a side, rows of n.
  const std::vector<std::uint32_t>& out(std::size_t side) const { return out_[side]; }

 private:
  std::vector<std::uint32_t> outputs(std::size_t side, SumRule rule) const {
    std::vector<std::uint32_t> bits;
    for (std::int64_t i = 0; i < problem_.m; ++i) {
      for (std::int64_t j = 0; j < problem_.n[side]; ++j) {
        float value = element(side, i, j, rule);
        if (problem_.swiglu) {
          value = oracle_activation(Activation::kSilu, value) * element(side + 1, i, j, rule);
        } else if (!problem_.activations.empty()) {
          value = oracle_activation(problem_.activations[side], value);
        }
        bits.push_back(output_bits(problem_.out_dtype, value));
      }
    }
    return bits;
  }
  float element(std::size_t side, std::int64_t i, std::int64_t j, SumRule rule) const {
    const float sum = oracle_sum(x_, y_[side], i, j, rule);
    return problem_.bias ? sum + bias_[side].at(0, j) : sum;
  }

  Problem problem_;
  Values x_;
  std::vector<Values> y_;
  std::vector<Values> bias_;
  std::vector<std::vector<std::uint32_t>> out_;
};

inline Values part_of(const Values& all, Range rows, Range cols) {
  Values part(rows.size(), cols.size());
  for (std::int64_t i = 0; i < part.rows; ++i) {
    for (std::int64_t j = 0; j < part.cols; ++j) {
      part.at(i, j) = all.at(rows.begin + i, cols.begin + j);
    }
  }
  return part;
}

inline Values transposed(const Values& values) {
  Values result(values.cols, values.rows);
  for (std::int64_t i = 0; i < values.rows; ++i) {
    for (std::int64_t j = 0; j < values.cols; ++j) result.at(j, i) = values.at(i, j);
  }
  return result;
}

// One rank's buffers for a problem.
class RankData {
 public:
  RankData(const Reference& reference, const Axis& axis)
      : reference_(reference),
        axis_(axis),
        rows_(rank_rows()),
        x_(part_of(reference.x(), rows_, {0, problem().k}), problem().dtype, problem().k + 3,
           Flush::kEnd),
        gathered_(Values(problem().m, problem().k), problem().dtype, problem().k + 2,
                  Flush::kStart) {
    for (std::size_t side = 0; side < problem().n.size(); ++side) {
      const Range cols = columns(side);
      const Values y = part_of(reference.y(side), {0, problem().k}, cols);
      Values bias = part_of(reference.bias(side), {0, 1}, cols);
      Stored stored(problem().transposed ? transposed(y) : y, problem().dtype,
                    (problem().transposed ? problem().k : cols.size()) + 1, Flush::kEnd);
      PackOptions pack;
      pack.engine = Engine::kOwn;  // oneDNN, the default with AMX, promises no bits
      pack.transposed = problem().transposed;
      if (problem().bias) pack.bias = bias.data;
      if (problem().given == Given::kPacked ||
          (problem().given == Given::kMixed && side % 2 == 0)) {
        weights_.push_back(Weights::pack(stored.ref(), pack));
        continue;
      }
      weights_.push_back(Weights::view(stored.ref(), pack));
      viewed_.push_back(std::move(stored));
      viewed_bias_.push_back(std::move(bias));
    }
    for (std::size_t side = 0; side < reference.num_outputs(); ++side) {
      const Range cols = columns(side);
      // NaN everywhere: an element that is read, or never written, cannot pass.
      out_.emplace_back(Values(problem().m, cols.size(), std::numeric_limits<float>::quiet_NaN()),
                        problem().out_dtype, cols.size() + 5, Flush::kEnd);
    }
  }

  ProblemShape shape() const {
    ProblemShape shape = {.m = problem().m, .k = problem().k, .n_local = {}};
    for (std::size_t side = 0; side < problem().n.size(); ++side) {
      shape.n_local.push_back(columns(side).size());
    }
    shape.dtype = problem().dtype;
    shape.out_dtype = problem().out_dtype;
    shape.rows = problem().rows;
    return shape;
  }

  void call(const Plan& plan) {
    std::vector<MatrixRef> outs;
    for (Stored& out : out_) outs.push_back(out.writable_ref());
    CallOptions options;
    if (problem().gathered) options.gathered = gathered_.writable_ref();
    all_gather_matmul(plan, x_.ref(), weights_, outs, options);
  }

  // Empty, or the first difference in words.
  std::string difference() {
    for (std::size_t side = 0; side < out_.size(); ++side) {
      const Range cols = columns(side);
      for (std::int64_t i = 0; i < problem().m; ++i) {
        for (std::int64_t j = 0; j < cols.size(); ++j) {
          const auto at = static_cast<std::size_t>(i * problem().n[side] + cols.begin + j);
          const std::uint32_t expected = reference_.out(side)[at];
          const std::uint32_t actual = load_bits(problem().out_dtype, out_[side].element(i, j));
          if (actual != expected) {
            return cat("rank ", axis_.rank(), " side ", side, " row ", i, " column ",
                       cols.begin + j, ": bits ", std::hex, actual, ", expected ", expected);
          }
        }
      }
      if (!out_[side].gaps_untouched()) return cat("side ", side, ": wrote between rows of out");
    }
    if (problem().gathered) {
      Stored expected(reference_.x(), problem().dtype, problem().k, Flush::kEnd);
      for (std::int64_t i = 0; i < problem().m; ++i) {
        for (std::int64_t j = 0; j < problem().k; ++j) {
          if (load_bits(problem().dtype, gathered_.element(i, j)) !=
              load_bits(problem().dtype, expected.element(i, j))) {
            return cat("rank ", axis_.rank(), ": gathered x differs at row ", i, " column ", j);
          }
        }
      }
      if (!gathered_.gaps_untouched()) return "wrote between rows of gathered";
    }
    return "";
  }

 private:
  const Problem& problem() const { return reference_.problem(); }
  Range rank_rows() const {
    if (problem().rows.empty()) return even_part(problem().m, axis_.num_ranks(), axis_.rank());
    Range rows;
    for (int r = 0; r <= axis_.rank(); ++r) {
      rows = {rows.end, rows.end + problem().rows[static_cast<std::size_t>(r)]};
    }
    return rows;
  }
  Range columns(std::size_t side) const {
    return even_part(problem().n[side], axis_.num_ranks(), axis_.rank());
  }

  const Reference& reference_;
  Axis axis_;
  Range rows_;
  Stored x_;
  Stored gathered_;
  std::vector<Weights> weights_;
  std::vector<Stored> viewed_;  // what the views refer to
  std::vector<Values> viewed_bias_;
  std::vector<Stored> out_;
};

// Runs the problem `num_calls` times on `num_ranks` ranks; empty, or the first difference.
inline std::string run_problem(const Reference& reference, int num_ranks, const Options& options,
                               int num_calls = 1) {
  std::vector<std::string> differences(static_cast<std::size_t>(num_ranks));
  run_ranks({{"tp", num_ranks}}, [&](Mesh& mesh) {
    const Axis axis = mesh.axis("tp");
    RankData data(reference, axis);
    Options mine = options;
    mine.activations = reference.problem().activations;
    mine.swiglu = reference.problem().swiglu;
    const Plan plan = Plan::make(axis, data.shape(), mine);
    std::string& difference = differences[static_cast<std::size_t>(mesh.rank())];
    for (int call = 0; call < num_calls && difference.empty(); ++call) {
      data.call(plan);
      difference = data.difference();
    }
  });
  for (const std::string& difference : differences) {
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace cmm::test
