// Views of matrices that the caller owns. Nothing here allocates or copies.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cmm/dtype.hpp"

namespace cmm {

// A row-major matrix: element (i, j) lies at data[i * row_stride + j]. Strides count elements.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;  // >= cols

  MatrixView() = default;
  MatrixView(T* elements, std::int64_t num_rows, std::int64_t num_cols)
      : MatrixView(elements, num_rows, num_cols, num_cols) {}
  MatrixView(T* elements, std::int64_t num_rows, std::int64_t num_cols,
             std::int64_t row_stride_elems)
      : data(elements), rows(num_rows), cols(num_cols), row_stride(row_stride_elems) {}
};

// The same with the element type as a value, which is what the library works on.
struct ConstMatrixRef {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;

  ConstMatrixRef() = default;
  ConstMatrixRef(const void* elements, DType type, std::int64_t num_rows, std::int64_t num_cols,
                 std::int64_t row_stride_elems)
      : data(elements), dtype(type), rows(num_rows), cols(num_cols), row_stride(row_stride_elems) {}
  template <class T>
  ConstMatrixRef(MatrixView<T> view)  // implicit: a view is passed where a matrix is read
      : ConstMatrixRef(view.data, DTypeOf<std::remove_const_t<T>>::value, view.rows, view.cols,
                       view.row_stride) {}
};

struct MatrixRef {
  void* data = nullptr;
  DType dtype = DType::kF32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;

  MatrixRef() = default;
  MatrixRef(void* elements, DType type, std::int64_t num_rows, std::int64_t num_cols,
            std::int64_t row_stride_elems)
      : data(elements), dtype(type), rows(num_rows), cols(num_cols), row_stride(row_stride_elems) {}
  template <class T>
  requires(!std::is_const_v<T>)
      MatrixRef(MatrixView<T> view)  // implicit: a view is passed where a matrix is written
      : MatrixRef(view.data, DTypeOf<T>::value, view.rows, view.cols, view.row_stride) {}

  operator ConstMatrixRef() const { return {data, dtype, rows, cols, row_stride}; }
};

// Any two strides, negative and zero included: element (i, j) lies at
// data[i * row_stride + j * col_stride]. Only read.
struct StridedMatrixRef {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 1;

  StridedMatrixRef() = default;
  StridedMatrixRef(const void* elements, DType type, std::int64_t num_rows, std::int64_t num_cols,
                   std::int64_t row_stride_elems, std::int64_t col_stride_elems)
      : data(elements),
        dtype(type),
        rows(num_rows),
        cols(num_cols),
        row_stride(row_stride_elems),
        col_stride(col_stride_elems) {}
  StridedMatrixRef(const ConstMatrixRef& m)  // implicit: row-major is a case of strided
      : StridedMatrixRef(m.data, m.dtype, m.rows, m.cols, m.row_stride, 1) {}
  template <class T>
  StridedMatrixRef(MatrixView<T> view) : StridedMatrixRef(ConstMatrixRef(view)) {}

  StridedMatrixRef transposed() const { return {data, dtype, cols, rows, col_stride, row_stride}; }
};

}  // namespace cmm
