#include "gemm/panels.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/check.hpp"
#include "base/integers.hpp"
#include "gemm/kernels.hpp"

namespace cmm::gemm {
namespace {

// k packed at a time for all panels. In y [k, n] a panel's row is one or two cache lines in a page
// of its own; 128 rows reach 128 pages, which stay in the address cache while the next panels read
// the neighbouring lines. In y [n, k] it makes runs of 256 bytes or more. Even, so that pairs of
// k never straddle two blocks.
constexpr std::int64_t kPackBlock = 128;

// The part of y that goes to one block of one panel.
template <class T>
struct Source {
  const T* data = nullptr;  // its first element
  std::int64_t k_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t k = 0;        // 1 .. kPackBlock
  std::int64_t columns = 0;  // 1 .. 32
};

// out: [k][32], columns past the source's zero.
template <class T>
void gather(const Source<T>& y, T* out) {
  if (y.column_stride == 1 && y.columns == kPanelColumns) {
    for (std::int64_t k = 0; k < y.k; ++k) {
      std::memcpy(out + k * kPanelColumns, y.data + k * y.k_stride, sizeof(T) * kPanelColumns);
    }
    return;
  }
  for (std::int64_t j = 0; j < y.columns; ++j) {
    const T* column = y.data + j * y.column_stride;
    for (std::int64_t k = 0; k < y.k; ++k) out[k * kPanelColumns + j] = column[k * y.k_stride];
  }
  for (std::int64_t j = y.columns; j < kPanelColumns; ++j) {
    for (std::int64_t k = 0; k < y.k; ++k) out[k * kPanelColumns + j] = T{};
  }
}

// rows: [k][32] -> out: [ceil(k/2)][32][2], an odd last k is joined by zeros.
void interleave_pairs(const std::uint16_t* rows, std::int64_t k, std::uint16_t* out) {
  static constexpr std::uint16_t kZeros[kPanelColumns] = {};
  for (std::int64_t even = 0; even < k; even += 2) {
    const std::uint16_t* low = rows + even * kPanelColumns;
    const std::uint16_t* high = even + 1 < k ? low + kPanelColumns : kZeros;
    for (int j = 0; j < kPanelColumns; ++j) {
      out[2 * j] = low[j];
      out[2 * j + 1] = high[j];
    }
    out += kPairColumns;
  }
}

void pack_block(DType, const Source<float>& y, std::byte* panel_block) {
  gather(y, reinterpret_cast<float*>(panel_block));
}

void pack_block(DType dtype, const Source<std::uint16_t>& y, std::byte* panel_block) {
  auto* out = reinterpret_cast<std::uint16_t*>(panel_block);
  if (dtype == DType::kF16) return gather(y, out);
  alignas(64) std::uint16_t rows[kPackBlock * kPanelColumns];
  gather(y, rows);
  interleave_pairs(rows, y.k, out);
}

template <class T>
void pack_all(const StridedMatrixRef& y, std::int64_t panel_bytes, std::byte* panels) {
  for (std::int64_t k0 = 0; k0 < y.rows; k0 += kPackBlock) {
    for (std::int64_t column = 0; column < y.cols; column += kPanelColumns) {
      const Source<T> part = {
          static_cast<const T*>(y.data) + k0 * y.row_stride + column * y.col_stride, y.row_stride,
          y.col_stride, std::min(kPackBlock, y.rows - k0),
          std::min<std::int64_t>(kPanelColumns, y.cols - column)};
      pack_block(y.dtype, part,
                 panels + column / kPanelColumns * panel_bytes + gemm::panel_bytes(y.dtype, k0));
    }
  }
}

// A panel without rows still has an address: the kernels take nullptr for no panel.
std::int64_t buffer_bytes(std::int64_t num_panels, std::int64_t panel_bytes) {
  const std::int64_t bytes = panel_bytes < 0 ? -1 : checked_product(num_panels, panel_bytes);
  return bytes == 0 ? 64 : bytes;
}

}  // namespace

std::int64_t panel_bytes(DType dtype, std::int64_t k) {
  switch (dtype) {
    case DType::kF32:
      return checked_product(k, 128);
    case DType::kBF16:
      return checked_product(k / 2 + k % 2, 128);
    case DType::kF16:
      return checked_product(k, 64);
  }
  return -1;
}

Panels::Panels(const StridedMatrixRef& y)
    : dtype_(y.dtype),
      k_(y.rows),
      n_(y.cols),
      num_panels_(y.cols / kPanelColumns + (y.cols % kPanelColumns != 0)),
      panel_bytes_(gemm::panel_bytes(y.dtype, y.rows)),
      data_(buffer_bytes(num_panels_, panel_bytes_)) {
  CMM_DCHECK(y.rows >= 0 && y.cols >= 0);
  if (dtype_bytes(dtype_) == 4) {
    pack_all<float>(y, panel_bytes_, data_.data());
  } else {
    pack_all<std::uint16_t>(y, panel_bytes_, data_.data());
  }
}

}  // namespace cmm::gemm
