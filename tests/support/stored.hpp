// Matrices of test values as they lie in memory: random values of a dtype, rows a stride apart, and
// a guard page at one end.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <random>

#include "cmm/matrix.hpp"
#include "support/guard_pages.hpp"
#include "support/oracle.hpp"

namespace cmm::test {

// The nearest value of the dtype.
inline float rounded(DType dtype, float value) {
  if (dtype == DType::kBF16) return to_float(to_bf16(value));
  return dtype == DType::kF16 ? to_float(to_f16(value)) : value;
}

inline void store_value(DType dtype, float value, std::byte* to) {
  const std::uint32_t bits =
      dtype == DType::kF32 ? std::bit_cast<std::uint32_t>(value) : output_bits(dtype, value);
  std::memcpy(to, &bits, dtype_bytes(dtype));
}

inline std::uint32_t load_bits(DType dtype, const std::byte* from) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, from, dtype_bytes(dtype));
  return bits;
}

inline Values random_values(std::int64_t rows, std::int64_t cols, DType dtype, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  Values values(rows, cols);
  for (float& value : values.data) value = rounded(dtype, uniform(random));
  return values;
}

// `values` laid out with a row stride, flush against a guard page.
class Stored {
 public:
  Stored(const Values& values, DType dtype, std::int64_t row_stride, Flush flush)
      : dtype_(dtype),
        rows_(values.rows),
        cols_(values.cols),
        row_stride_(row_stride),
        buffer_(size_bytes(), flush) {
    std::fill_n(buffer_.data(), buffer_.bytes(), std::byte{0xff});
    for (std::int64_t i = 0; i < rows_; ++i) {
      for (std::int64_t j = 0; j < cols_; ++j) store_value(dtype, values.at(i, j), element(i, j));
    }
  }
  std::byte* element(std::int64_t i, std::int64_t j) {
    return buffer_.data() + (i * row_stride_ + j) * static_cast<std::int64_t>(dtype_bytes(dtype_));
  }
  ConstMatrixRef ref() { return {buffer_.data(), dtype_, rows_, cols_, row_stride_}; }
  MatrixRef writable_ref() { return {buffer_.data(), dtype_, rows_, cols_, row_stride_}; }
  // What lies between the rows was filled with 0xff and belongs to somebody else.
  bool gaps_untouched() {
    if (cols_ == 0) return true;
    for (std::int64_t i = 0; i + 1 < rows_; ++i) {
      for (const std::byte* p = element(i, cols_); p < element(i + 1, 0); ++p) {
        if (*p != std::byte{0xff}) return false;
      }
    }
    return true;
  }

 private:
  // Nothing follows the last element of the last row.
  std::size_t size_bytes() const {
    const std::int64_t elems = rows_ == 0 || cols_ == 0 ? 0 : (rows_ - 1) * row_stride_ + cols_;
    return static_cast<std::size_t>(elems) * dtype_bytes(dtype_);
  }
  DType dtype_;
  std::int64_t rows_, cols_, row_stride_;
  GuardedBuffer buffer_;
};

}  // namespace cmm::test
