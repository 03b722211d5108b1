// A library that multiplies in place of our kernels (docs/engines.md). CMake builds one source of
// this folder: onednn.cpp, or no_onednn.cpp where there is no library.
#pragma once

#include <cstdint>
#include <memory>

#include "cmm/matrix.hpp"

namespace cmm::gemm {

// y packed once in the layout that the library chose, the one copy every product reads.
class LibraryMatrix {
 public:
  static bool available();             // in this build
  static bool preferred(DType dtype);  // to our kernels, by this processor: it has AMX for the type

  // y is [k, n] of any strides. Throws Error(kUnsupported) where this build has no library or the
  // library has no product of that type on this processor, Error(kOutOfMemory).
  explicit LibraryMatrix(const StridedMatrixRef& y);
  ~LibraryMatrix();
  LibraryMatrix(const LibraryMatrix&) = delete;
  LibraryMatrix& operator=(const LibraryMatrix&) = delete;

  DType dtype() const { return dtype_; }
  std::int64_t k() const { return k_; }
  std::int64_t n() const { return n_; }
  std::int64_t bytes() const;

 private:
  friend class LibraryProducts;
  struct Packed;

  DType dtype_;
  std::int64_t k_;
  std::int64_t n_;
  std::unique_ptr<Packed> packed_;  // nullptr: y has no elements
};

// What the library prepares for the products of one rank, kept by shape and number of threads. Used
// by one thread.
class LibraryProducts {
 public:
  LibraryProducts();
  ~LibraryProducts();
  LibraryProducts(const LibraryProducts&) = delete;
  LibraryProducts& operator=(const LibraryProducts&) = delete;

  struct Args {
    const LibraryMatrix* y = nullptr;
    const void* x = nullptr;  // [rows, k] of y's dtype, no gap between rows
    std::int64_t rows = 0;
    float* out = nullptr;  // [rows, n], no gap between rows
    int num_threads = 1;   // the caller and a team of the library's OpenMP runtime
  };
  // out = x * y, summed in an order of the library's choice. The first product of a shape generates
  // code (up to milliseconds) and allocates; later ones only make the library's small call
  // objects. The caller's OpenMP team size is as before on return. Throws Error(kOutOfMemory),
  // Error(kUnsupported).
  void multiply(const Args& args);

 private:
  struct Prepared;
  std::unique_ptr<Prepared> prepared_;
};

}  // namespace cmm::gemm
