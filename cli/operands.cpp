#include "operands.hpp"

#include <algorithm>

#include "arguments.hpp"
#include "reference_product.hpp"

namespace cmm::cli {
namespace {

// The work of a tenth of a second or so, but enough rows that reading the weights again costs
// nothing.
std::int64_t rows_per_call(const Problem& p) {
  constexpr double kFlopsPerCall = 2e10;
  constexpr std::int64_t kLeastRows = 2048;
  const double flops_per_row = 2.0 * static_cast<double>(p.k) * static_cast<double>(p.n);
  const double rows = kFlopsPerCall / std::max(flops_per_row, 1.0);
  return rows >= static_cast<double>(p.m) ? p.m
                                          : std::min(p.m, std::max(kLeastRows, std::int64_t(rows)));
}

// Rows of x that `ranks` hold together, in one call.
Share rows_of(const Problem& call, RankRange ranks) {
  const RankPart first = part_of(call, ranks.first);
  const RankPart last = part_of(call, ranks.end() - 1);
  return {first.first_row, last.first_row + last.rows - first.first_row};
}

}  // namespace

std::vector<CallRows> calls_of(const Problem& problem) {
  const std::int64_t most = rows_per_call(problem);
  std::vector<CallRows> calls;
  for (std::int64_t row = 0; row < problem.m; row += most) {
    calls.push_back({row, problem});
    calls.back().problem.m = std::min(most, problem.m - row);
  }
  if (calls.empty()) calls.push_back({0, problem});  // no rows: checked like any other
  return calls;
}

Operands::Operands(World& world, const Problem& problem, const files::MatrixFile& x_file,
                   const files::MatrixFile& y_file)
    : problem_(problem), ranks_(world.ranks_here(problem.ranks)), calls_(calls_of(problem)) {
  std::int64_t num_rows = 0;
  for (const CallRows& call : calls_) {
    first_rows_.push_back(num_rows);
    num_rows += rows_of(call.problem, ranks_).size;
  }
  // Ranks read x row by row; a file in Fortran order is brought to that form.
  const auto elem_bytes = static_cast<std::int64_t>(dtype_bytes(problem.dtype));
  x_ =
      Matrix(problem.dtype, num_rows, problem.k, world.allocate(num_rows * problem.k * elem_bytes));
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const Share rows = rows_of(calls_[i].problem, ranks_);
    const files::Tensor block =
        x_file.read_block({calls_[i].first_row + rows.begin, rows.size, 0, problem.k});
    copy_matrix(block.view, x_.row_block(first_rows_[i], rows.size));
  }

  const RankPart last = part_of(problem, ranks_.end() - 1);
  first_col_ = part_of(problem, ranks_.first).first_col;
  const std::int64_t cols = last.first_col + last.cols - first_col_;
  y_file_ = problem.transpose_y ? y_file.read_block({first_col_, cols, 0, problem.k})
                                : y_file.read_block({0, problem.k, first_col_, cols});
  y_ = problem.transpose_y ? y_file_.view.transposed() : y_file_.view;
}

ConstMatrixRef Operands::x_local(std::size_t call, int rank) const {
  const Problem& now = calls_[call].problem;
  const RankPart part = part_of(now, rank);
  const std::int64_t row = first_rows_[call] + part.first_row - rows_of(now, ranks_).begin;
  const auto elem_bytes = static_cast<std::int64_t>(dtype_bytes(problem_.dtype));
  return {static_cast<const char*>(x_.ref().data) + row * problem_.k * elem_bytes, problem_.dtype,
          part.rows, problem_.k, problem_.k};
}

StridedMatrixRef Operands::y_local(int rank) const {
  const RankPart part = part_of(problem_, rank);
  const auto elem_bytes = static_cast<std::int64_t>(dtype_bytes(problem_.dtype));
  return {static_cast<const char*>(y_.data) +
              (part.first_col - first_col_) * y_.col_stride * elem_bytes,
          problem_.dtype,
          problem_.k,
          part.cols,
          y_.row_stride,
          y_.col_stride};
}

std::vector<float> widened_file(const files::MatrixFile& file) {
  constexpr std::int64_t kPartElems = std::int64_t{1} << 22;
  const std::int64_t rows = file.view.rows, cols = file.view.cols;
  std::vector<float> out(static_cast<std::size_t>(rows * cols));
  const bool by_rows = file.view.col_stride == 1;
  const std::int64_t length = std::max<std::int64_t>(by_rows ? cols : rows, 1);
  const std::int64_t count = by_rows ? rows : cols;
  const std::int64_t step = std::max<std::int64_t>(1, kPartElems / length);
  for (std::int64_t at = 0; at < count; at += step) {
    const std::int64_t size = std::min(step, count - at);
    const files::Tensor part =
        by_rows ? file.read_block({at, size, 0, cols}) : file.read_block({0, rows, at, size});
    float* to = out.data() + (by_rows ? at * cols : at);
    widen_block(part.view, 0, 0, MatrixView<float>(to, part.view.rows, part.view.cols, cols));
  }
  return out;
}

}  // namespace cmm::cli
