// The multiply of one rank by a library engine (docs/engines.md) in place of our kernels: blocks of
// rows over all columns, then our own epilogue. Never blocks of columns: given an output with gaps
// between its rows, oneDNN 2 leaves its fast path.
#pragma once

#include <cstdint>

#include "base/aligned_buffer.hpp"
#include "gemm/library/library.hpp"
#include "gemm/product.hpp"

namespace cmm::exec {

class LibraryMultiply {
 public:
  // num_threads: the caller and helpers from the library's OpenMP runtime.
  explicit LibraryMultiply(int num_threads) : num_threads_(num_threads) {}

  // Writes rows [first_row, first_row + x.rows) of the product; x [rows, k] has no gaps between
  // rows. The sums are allocated by the first call that needs so many: a plan does not know which
  // engine its calls will use, and most never use this one.
  void multiply(const gemm::Product& product, const ConstMatrixRef& x, std::int64_t first_row);

  std::int64_t bytes() const { return sums_.bytes(); }

 private:
  void store(const gemm::Product& product, std::size_t side, std::int64_t first_row,
             std::int64_t rows) const;

  const int num_threads_;
  gemm::LibraryProducts products_;
  AlignedBuffer sums_;  // f32 [rows of a block, n]; SwiGLU: two of them
};

}  // namespace cmm::exec
