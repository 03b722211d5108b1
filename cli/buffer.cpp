#include "buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "arguments.hpp"
#include "cmm/error.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

// In squares, so that the side with the long stride uses each cache line it loads.
template <class Bits>
void copy_squares(const StridedMatrixRef& from, const MatrixRef& to) {
  constexpr std::int64_t kSquare = 64;
  const auto* source = static_cast<const Bits*>(from.data);
  auto* target = static_cast<Bits*>(to.data);
  for (std::int64_t i0 = 0; i0 < to.rows; i0 += kSquare) {
    for (std::int64_t j0 = 0; j0 < to.cols; j0 += kSquare) {
      const std::int64_t i1 = std::min(to.rows, i0 + kSquare);
      const std::int64_t j1 = std::min(to.cols, j0 + kSquare);
      for (std::int64_t i = i0; i < i1; ++i) {
        for (std::int64_t j = j0; j < j1; ++j) {
          target[i * to.row_stride + j] = source[i * from.row_stride + j * from.col_stride];
        }
      }
    }
  }
}

}  // namespace

Matrix::Matrix(DType dtype, std::int64_t rows, std::int64_t cols)
    : dtype_(dtype), rows_(rows), cols_(cols) {
  constexpr std::int64_t kLargePage = std::int64_t{2} << 20;
  const std::int64_t size = bytes();
  const std::int64_t alignment = size >= kLargePage ? kLargePage : 64;
  void* p = size > std::int64_t{1} << 60
                ? nullptr
                : std::aligned_alloc(static_cast<std::size_t>(alignment),
                                     static_cast<std::size_t>(size / alignment + 1) *
                                         static_cast<std::size_t>(alignment));
  if (p == nullptr) {
    throw Error(ErrorCode::kOutOfMemory, text("no memory for a ", dtype_name(dtype), " matrix [",
                                              rows, ", ", cols, "], ", size, " bytes"));
  }
  data_.reset(p, std::free);
  if (alignment == kLargePage) madvise(p, static_cast<std::size_t>(size), MADV_HUGEPAGE);
}

Matrix::Matrix(DType dtype, std::int64_t rows, std::int64_t cols, std::shared_ptr<void> memory)
    : Matrix() {
  if (memory == nullptr) {
    *this = Matrix(dtype, rows, cols);
    return;
  }
  data_ = std::move(memory);
  dtype_ = dtype;
  rows_ = rows;
  cols_ = cols;
}

std::int64_t Matrix::bytes() const {
  return saturating_product(saturating_product(rows_, cols_),
                            static_cast<std::int64_t>(dtype_bytes(dtype_)));
}

MatrixRef Matrix::row_block(std::int64_t first, std::int64_t count) {
  char* p = static_cast<char*>(data_.get()) +
            first * cols_ * static_cast<std::int64_t>(dtype_bytes(dtype_));
  return {p, dtype_, count, cols_, cols_};
}

void copy_matrix(const StridedMatrixRef& from, const MatrixRef& to) {
  switch (from.dtype) {
    case DType::kF32:
      return copy_squares<float>(from, to);
    case DType::kBF16:
      return copy_squares<BFloat16>(from, to);
    case DType::kF16:
      return copy_squares<Float16>(from, to);
  }
}

}  // namespace cmm::cli
