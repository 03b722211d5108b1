// A matrix read from a file, with the memory it lies in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cmm/matrix.hpp"

namespace cmm::files {

struct Tensor {
  std::unique_ptr<std::byte[]> storage;
  StridedMatrixRef view;    // [rows, cols], into `storage`; Fortran order has row_stride 1
  std::string description;  // for people: "bf16 [30522, 384] of w.npy"
};

// Uninitialised. Throws Error(kOutOfMemory) with `path` and the size.
std::unique_ptr<std::byte[]> allocate_for(const std::string& path, std::int64_t bytes);

// Bytes of a dense matrix; -1 where they do not fit in int64. Extents are >= 0.
std::int64_t matrix_bytes(DType dtype, std::int64_t rows, std::int64_t cols);

// "f32 [3, 4]"
std::string matrix_text(DType dtype, std::int64_t rows, std::int64_t cols);

}  // namespace cmm::files
