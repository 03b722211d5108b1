#include "reference_product.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>

#include "parallel.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

// 32 rows of y by 256 columns are 32 KB: they stay in L1 while all rows of x pass over them.
constexpr std::int64_t kBlockCols = 256;
constexpr std::int64_t kBlockK = 32;  // even: a block of k never splits a pair

template <class T>
float element_as_float(const void* data, std::int64_t index) {
  return to_float(static_cast<const T*>(data)[index]);
}
float element(const ConstMatrixRef& m, std::int64_t index) {
  return m.dtype == DType::kF32    ? element_as_float<float>(m.data, index)
         : m.dtype == DType::kBF16 ? element_as_float<BFloat16>(m.data, index)
                                   : element_as_float<Float16>(m.data, index);
}

std::uint32_t element_bits(const ConstMatrixRef& m, std::int64_t index) {
  return m.dtype == DType::kF32
             ? std::bit_cast<std::uint32_t>(static_cast<const float*>(m.data)[index])
         : m.dtype == DType::kBF16 ? static_cast<const BFloat16*>(m.data)[index].bits
                                   : static_cast<const Float16*>(m.data)[index].bits;
}

// The one rounding at the end, NaN made canonical.
std::uint32_t rounded_bits(float sum, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return std::isnan(sum) ? kCanonicalNanF32 : std::bit_cast<std::uint32_t>(sum);
    case DType::kBF16:
      return to_bf16(sum).bits;
    case DType::kF16:
      return to_f16(sum).bits;
  }
  return 0;
}

double half_unit(float value, DType dtype) {
  const double relative = dtype == DType::kF32 ? 0x1p-24 : dtype == DType::kBF16 ? 0x1p-9 : 0x1p-12;
  const double smallest = dtype == DType::kF16 ? 0x1p-25 : 0.0;  // half of the least f16
  return std::max(std::fabs(static_cast<double>(value)) * relative, smallest);
}

// Columns [first_col, +cols) of the sums of products, or of their absolute values.
class ColumnSums {
 public:
  ColumnSums(const ReferenceProblem& problem, std::int64_t first_col, std::int64_t cols)
      : problem_(problem),
        first_col_(first_col),
        cols_(cols),
        sums_(static_cast<std::size_t>(problem.x.rows * cols)),
        absolute_(problem.any_order ? sums_.size() : 0) {
    std::vector<float> y(kBlockK * kBlockCols);
    std::vector<float> x_absolute;
    for (std::int64_t k0 = 0; k0 < problem.x.cols; k0 += kBlockK) {
      const std::int64_t num_k = std::min(kBlockK, problem.x.cols - k0);
      problem.y(k0, first_col_, MatrixView<float>(y.data(), num_k, cols_));
      ReferenceBlock block{.x = problem.x.data + k0,
                           .x_stride = problem.x.row_stride,
                           .y = y.data(),
                           .y_stride = cols_,
                           .acc = sums_.data(),
                           .acc_stride = cols_,
                           .rows = problem.x.rows,
                           .cols = cols_,
                           .num_k = num_k};
      reference_block(block, problem.chain);
      if (!problem.any_order) continue;
      x_absolute.resize(static_cast<std::size_t>(problem.x.rows * num_k));
      for (std::int64_t i = 0; i < problem.x.rows; ++i) {
        for (std::int64_t kk = 0; kk < num_k; ++kk) {
          x_absolute[static_cast<std::size_t>(i * num_k + kk)] =
              std::fabs(problem.x.data[i * problem.x.row_stride + k0 + kk]);
        }
      }
      for (float& v : y) v = std::fabs(v);
      block.x = x_absolute.data();
      block.x_stride = num_k;
      block.acc = absolute_.data();
      reference_block(block, Chain::kFma);
    }
  }

  float sum(std::int64_t i, std::int64_t col) const { return sums_[index(i, col)]; }

  bool equal(std::int64_t i, std::int64_t col, const ConstMatrixRef& out, std::int64_t at) const {
    const float want = sum(i, col);
    if (!problem_.any_order) return rounded_bits(want, out.dtype) == element_bits(out, at);
    const float got = element(out, at);
    if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got);
    if (std::isinf(want) || std::isinf(got)) return want == got;
    const double ku = static_cast<double>(problem_.x.cols) * 0x1p-24;
    const double sum_bound = 2 * ku / (1 - ku) * static_cast<double>(absolute_[index(i, col)]);
    return std::fabs(static_cast<double>(got) - static_cast<double>(want)) <=
           sum_bound + 2 * half_unit(want, out.dtype);
  }

 private:
  std::size_t index(std::int64_t i, std::int64_t col) const {
    return static_cast<std::size_t>(i * cols_ + col - first_col_);
  }

  const ReferenceProblem& problem_;
  std::int64_t first_col_;
  std::int64_t cols_;
  std::vector<float> sums_;      // [m, cols]
  std::vector<float> absolute_;  // [m, cols] of |x| |y|, only where the order is free
};

struct Mismatch {
  std::int64_t row = std::numeric_limits<std::int64_t>::max();
  std::int64_t col = 0;
  float got = 0;
  float want = 0;
};

}  // namespace

void Comparison::add(const Comparison& other) {
  if (mismatches == 0) first_mismatch = other.first_mismatch;
  num_elements += other.num_elements;
  mismatches += other.mismatches;
}

std::string Comparison::verdict() const {
  return mismatches == 0 ? text("right: all ", num_elements, " elements compared")
                         : text("WRONG: ", mismatches, " of ", num_elements, " elements; first at ",
                                first_mismatch);
}

Comparison compare_with_reference(const ReferenceProblem& problem,
                                  const std::vector<OutputSlice>& slices) {
  const std::int64_t m = problem.x.rows;
  if (slices.empty()) return {};
  const std::int64_t first_col = slices.front().first_col;
  const std::int64_t end_col = slices.back().first_col + slices.back().out.cols;
  const std::int64_t num_blocks = (end_col - first_col + kBlockCols - 1) / kBlockCols;
  std::atomic<std::int64_t> next_block{0};
  std::atomic<std::int64_t> mismatches{0};
  std::mutex mutex;
  Mismatch first;  // in row order, so that the message does not depend on the threads
  std::int64_t blocks_done = 0;

  auto compare_blocks = [&] {
    for (std::int64_t b = next_block++; b < num_blocks; b = next_block++) {
      const std::int64_t begin = first_col + b * kBlockCols;
      const std::int64_t end = std::min(end_col, begin + kBlockCols);
      const ColumnSums sums(problem, begin, end - begin);
      Mismatch first_here;
      std::int64_t wrong = 0;
      for (const OutputSlice& slice : slices) {
        const std::int64_t from = std::max(begin, slice.first_col);
        const std::int64_t to = std::min(end, slice.first_col + slice.out.cols);
        for (std::int64_t i = 0; i < m && from < to; ++i) {
          for (std::int64_t col = from; col < to; ++col) {
            const std::int64_t at = i * slice.out.row_stride + col - slice.first_col;
            if (sums.equal(i, col, slice.out, at)) continue;
            ++wrong;
            if (i < first_here.row) {
              first_here = {i, col, element(slice.out, at), sums.sum(i, col)};
            }
          }
        }
      }
      mismatches += wrong;
      const std::lock_guard lock(mutex);
      if (first_here.row < first.row ||
          (first_here.row == first.row && first_here.col < first.col)) {
        first = first_here;
      }
      ++blocks_done;
      if (problem.progress) {
        problem.progress(static_cast<double>(blocks_done) / static_cast<double>(num_blocks));
      }
    }
  };
  run_parallel(static_cast<int>(std::min<std::int64_t>(problem.num_threads, num_blocks)),
               compare_blocks);

  Comparison result;
  result.num_elements = m * (end_col - first_col);
  result.mismatches = mismatches;
  if (result.mismatches > 0) {
    result.first_mismatch = text("row ", first.row, " column ", first.col, ": got ", first.got,
                                 ", the reference sum is ", first.want);
  }
  return result;
}

void widen_block(const StridedMatrixRef& matrix, std::int64_t first_row, std::int64_t first_col,
                 const MatrixView<float>& out) {
  auto widen = [&]<class T>(const T* data) {
    for (std::int64_t i = 0; i < out.rows; ++i) {
      const T* row = data + (first_row + i) * matrix.row_stride + first_col * matrix.col_stride;
      float* to = out.data + i * out.row_stride;
      for (std::int64_t j = 0; j < out.cols; ++j) to[j] = to_float(row[j * matrix.col_stride]);
    }
  };
  switch (matrix.dtype) {
    case DType::kF32:
      return widen(static_cast<const float*>(matrix.data));
    case DType::kBF16:
      return widen(static_cast<const BFloat16*>(matrix.data));
    case DType::kF16:
      return widen(static_cast<const Float16*>(matrix.data));
  }
}

std::vector<float> widened(const StridedMatrixRef& matrix) {
  std::vector<float> out(static_cast<std::size_t>(matrix.rows * matrix.cols));
  widen_block(matrix, 0, 0, MatrixView<float>(out.data(), matrix.rows, matrix.cols));
  return out;
}

}  // namespace cmm::cli
