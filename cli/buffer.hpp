// Memory of a matrix: 64-byte aligned, in large pages where it is large.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "cmm/dtype.hpp"
#include "cmm/matrix.hpp"

namespace cmm::cli {

// A row-major matrix that owns its memory, not initialised: the thread that fills it first decides
// where it lies.
class Matrix {
 public:
  Matrix() = default;
  Matrix(Matrix&&) = default;
  Matrix& operator=(Matrix&&) = default;
  // Throws Error(kOutOfMemory) with the size.
  Matrix(DType dtype, std::int64_t rows, std::int64_t cols);
  // In memory that is there already, 64-byte aligned and large enough; where it is null, as above.
  Matrix(DType dtype, std::int64_t rows, std::int64_t cols, std::shared_ptr<void> memory);

  DType dtype() const { return dtype_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t bytes() const;
  MatrixRef ref() { return {data_.get(), dtype_, rows_, cols_, cols_}; }
  ConstMatrixRef ref() const { return {data_.get(), dtype_, rows_, cols_, cols_}; }
  // Rows [first, first + count).
  MatrixRef row_block(std::int64_t first, std::int64_t count);

 private:
  std::shared_ptr<void> data_;
  DType dtype_ = DType::kF32;
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
};

// Copies between matrices of the same dtype and extents.
void copy_matrix(const StridedMatrixRef& from, const MatrixRef& to);

}  // namespace cmm::cli
