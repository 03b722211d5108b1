// Where a block of accumulators goes: shared by the two drivers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gemm/product.hpp"

namespace cmm::gemm {

struct OutputBlock {
  int side = 0;
  std::int64_t row = 0;  // of out
  int rows = 0;
  std::int64_t first_panel = 0;
  int num_panels = 0;  // 1 or more
  const float* acc = nullptr;
  const float* acc_up = nullptr;  // SwiGLU
  std::int64_t acc_stride = 0;
};

// Epilogue, rounding and the only write to out.
inline void store_output(const Product& product, const OutputBlock& block) {
  const Side& side = product.sides[static_cast<std::size_t>(block.side)];
  const Side* up =
      product.swiglu ? &product.sides[static_cast<std::size_t>(block.side + 1)] : nullptr;
  const std::int64_t column = block.first_panel * kPanelColumns;
  const std::int64_t cols =
      std::min(side.n() - column, std::int64_t{kPanelColumns} * block.num_panels);
  const std::int64_t at = block.row * side.out.row_stride + column;
  product.kernels->store(
      {.acc = block.acc,
       .acc_up = block.acc_up,
       .acc_stride = block.acc_stride,
       .rows = block.rows,
       .cols = static_cast<int>(cols),
       .bias = side.bias == nullptr ? nullptr : side.bias + column,
       .bias_up = up == nullptr || up->bias == nullptr ? nullptr : up->bias + column,
       .activation = side.activation,
       .out = static_cast<std::byte*>(side.out.data) +
              at * static_cast<std::int64_t>(dtype_bytes(side.out.dtype)),
       .out_dtype = side.out.dtype,
       .out_stride = side.out.row_stride});
}

}  // namespace cmm::gemm
