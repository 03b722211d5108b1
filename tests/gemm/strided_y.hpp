// A y of any strides between guard pages.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "support/stored.hpp"

namespace cmm::test {

// y [k, n] between guard pages with one of four layouts.
enum class Layout { kRowMajor, kColumnMajor, kReversed, kBroadcast };
inline constexpr Layout kLayouts[] = {Layout::kRowMajor, Layout::kColumnMajor, Layout::kReversed,
                                      Layout::kBroadcast};

struct StridedY {
  GuardedBuffer buffer;
  StridedMatrixRef ref;

  static StridedY make(DType dtype, Layout layout, std::int64_t k, std::int64_t n, Flush flush) {
    const auto bytes = static_cast<std::int64_t>(dtype_bytes(dtype));
    std::int64_t row_stride = 0, col_stride = 0, first = 0;
    if (layout == Layout::kRowMajor) {
      row_stride = n + 1;
      col_stride = 1;
    } else if (layout == Layout::kColumnMajor) {
      row_stride = 1;
      col_stride = k + 2;
    } else if (layout == Layout::kReversed) {
      row_stride = -2 * n;
      col_stride = -2;
      first = (k - 1) * 2 * n + (n - 1) * 2;
    } else {
      col_stride = 3;
    }
    const bool empty = k == 0 || n == 0;
    const std::int64_t span =
        empty ? 0 : (k - 1) * std::abs(row_stride) + (n - 1) * std::abs(col_stride) + 1;
    StridedY y = {GuardedBuffer(static_cast<std::size_t>(span * bytes), flush), {}};
    for (std::int64_t i = 0; i < span; ++i) {  // no two elements alike, as far as bits go
      store_value(dtype, static_cast<float>(i % 2039 + 1), y.buffer.data() + i * bytes);
    }
    const std::byte* data = empty ? nullptr : y.buffer.data() + first * bytes;
    y.ref = StridedMatrixRef(data, dtype, k, n, row_stride, col_stride);
    return y;
  }
  std::uint32_t element(std::int64_t p, std::int64_t j) const {
    const auto bytes = static_cast<std::int64_t>(dtype_bytes(ref.dtype));
    return load_bits(ref.dtype, static_cast<const std::byte*>(ref.data) +
                                    (p * ref.row_stride + j * ref.col_stride) * bytes);
  }
};

}  // namespace cmm::test
