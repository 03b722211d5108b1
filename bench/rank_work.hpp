// What one rank does for each version of a problem.
#pragma once

#include <memory>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "cmm/cmm.hpp"
#include "problems.hpp"

namespace cmm::bench {

class RankWork {
 public:
  // Collective over the axis. All that this refers to outlives it.
  struct Setup {
    const Case& problem;
    Axis axis;
    ConstMatrixRef whole_x;         // [m, k]
    ConstMatrixRef x_local;         // [m_r, k]: this rank's rows, with the same values
    const std::vector<Weights>& y;  // [k, n_r]: copies, used in turn
  };
  explicit RankWork(const Setup& setup);

  void fused() { all_gather_matmul(fused_, setup_.x_local, next_y(), out()); }
  // The gather of the fused plan, and by the direct algorithm.
  void gather() { all_gather(fused_, setup_.x_local, gathered()); }
  void gather_direct() { all_gather(direct_, setup_.x_local, gathered()); }
  // This rank's product alone, of x at hand or of the copy that a gather has made.
  void multiply() { multiply(setup_.whole_x); }
  void multiply_gathered() { multiply(gathered()); }

  Explanation explain() const { return fused_.explain(); }
  MatrixRef gathered() {
    const Case& c = setup_.problem;
    return {gathered_.data(), c.dtype, c.m, c.k, c.k};
  }

 private:
  ProblemShape shape() const;
  cmm::Options options(Algorithm algorithm) const;
  const Weights& next_y() { return setup_.y[next_++ % setup_.y.size()]; }
  MatrixRef out() {
    const Case& c = setup_.problem;
    return {out_.data(), c.dtype, c.m, n_local_, n_local_};
  }
  void multiply(const ConstMatrixRef& x) { all_gather_matmul(alone_, x, next_y(), out()); }

  const Setup setup_;
  const std::int64_t n_local_;
  Plan fused_;
  Plan direct_;
  Plan alone_;
  AlignedBuffer gathered_;
  AlignedBuffer out_;
  std::size_t next_ = 0;
};

// The copies of y on `rank`.
std::vector<Weights> pack_copies(const Case& c, int rank);

// The rows of `rank` in the whole x.
ConstMatrixRef rows_of(const ConstMatrixRef& x, const Case& c, int rank);

}  // namespace cmm::bench
