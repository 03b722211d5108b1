#include "gemm/pad_columns.hpp"

#include <cstdint>
#include <cstring>

#include "gemm/kernels.hpp"

namespace cmm::gemm {
namespace {

template <class T>
void pad(const StridedMatrixRef& y, T* out) {
  for (std::int64_t k = 0; k < y.rows; ++k, out += kPanelColumns) {
    const T* row = static_cast<const T*>(y.data) + k * y.row_stride;
    for (std::int64_t j = 0; j < y.cols; ++j) out[j] = row[j * y.col_stride];
    std::memset(out + y.cols, 0, sizeof(T) * static_cast<std::size_t>(kPanelColumns - y.cols));
  }
}

}  // namespace

void pad_columns(const StridedMatrixRef& y, std::byte* out) {
  if (dtype_bytes(y.dtype) == 4) {
    pad(y, reinterpret_cast<float*>(out));
  } else {
    pad(y, reinterpret_cast<std::uint16_t*>(out));
  }
}

}  // namespace cmm::gemm
