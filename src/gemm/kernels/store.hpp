// The epilogue: accumulators to output elements, compiled once per instruction set (see
// tables.hpp). Blocks of 32 columns with fixed trip counts, so that every loop is vector code
// without remainders; only the last write of a narrow block is element by element.
#pragma once

#include <cstdint>
#include <cstring>

#include "gemm/kernels.hpp"
#include "gemm/kernels/activations.hpp"

namespace cmm::gemm {
namespace {

// One rounding to the output type, to nearest even, as in dtype.hpp; every NaN becomes the
// canonical one. Written without branches.
struct ToF32 {
  using Out = float;
  static Out round(float value) {
    const auto bits = __builtin_bit_cast(std::uint32_t, value);
    const std::uint32_t nan = kCanonicalNanF32;
    return __builtin_bit_cast(float, (bits & 0x7fffffffu) > 0x7f800000u ? nan : bits);
  }
};

struct ToBF16 {
  using Out = std::uint16_t;
  static Out round(float value) {
    const auto bits = __builtin_bit_cast(std::uint32_t, value);
    const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const std::uint32_t nan = kCanonicalNanBF16;
    return static_cast<Out>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
  }
};

struct ToF16 {
  using Out = std::uint16_t;
  static Out round(float value) {
    const auto bits = __builtin_bit_cast(std::uint32_t, value);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    const std::uint32_t sign = (bits >> 16) & 0x8000u;
    const std::uint32_t normal =
        (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
    // Below 2^-14: adding 0.5 rounds to units of 2^-24.
    const std::uint32_t subnormal =
        __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, magnitude) + 0.5f) -
        0x3f000000u;
    std::uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
    result = magnitude >= 0x477ff000u ? 0x7c00u : result;  // 65520 and above: infinity
    result = magnitude > 0x7f800000u ? kCanonicalNanF16 : result | sign;
    return static_cast<Out>(result);
  }
};

// 32 sums and the 32 biases of their columns.
struct StoreBlock {
  const float* acc;
  const float* acc_up;   // SwiGLU
  const float* bias;     // or nullptr
  const float* bias_up;  // or nullptr
};

inline void add_bias(const float* acc, const float* bias, float* sum) {
  if (bias == nullptr) {
    for (int j = 0; j < kPanelColumns; ++j) sum[j] = acc[j];
  } else {
    for (int j = 0; j < kPanelColumns; ++j) sum[j] = acc[j] + bias[j];
  }
}

template <float (*function)(float)>
void apply(float* values) {
  for (int j = 0; j < kPanelColumns; ++j) values[j] = function(values[j]);
}

inline void apply_activation(Activation activation, float* values) {
  switch (activation) {
    case Activation::kNone:
      return;
    case Activation::kRelu:
      return apply<relu>(values);
    case Activation::kGeluTanh:
      return apply<gelu_tanh>(values);
    case Activation::kGeluErf:
      return apply<gelu_erf>(values);
    case Activation::kSilu:
      return apply<silu>(values);
  }
}

template <class To>
void round_block(const float* values, typename To::Out* out) {
  for (int j = 0; j < kPanelColumns; ++j) out[j] = To::round(values[j]);
}

template <class To>
void store_block(const StoreBlock& block, Activation activation, typename To::Out* out) {
  if (block.acc_up == nullptr && block.bias == nullptr && activation == Activation::kNone) {
    return round_block<To>(block.acc, out);
  }
  alignas(64) float values[kPanelColumns];
  add_bias(block.acc, block.bias, values);
  if (block.acc_up == nullptr) {
    apply_activation(activation, values);
  } else {
    alignas(64) float up[kPanelColumns];
    add_bias(block.acc_up, block.bias_up, up);
    apply<silu>(values);
    for (int j = 0; j < kPanelColumns; ++j) values[j] *= up[j];
  }
  round_block<To>(values, out);
}

// Bias of the block's columns, filled up to 32 with zeros: nothing is read past the view.
inline const float* padded_bias(const float* bias, int cols, float* padded) {
  if (bias == nullptr) return nullptr;
  for (int j = 0; j < kPanelColumns; ++j) padded[j] = j < cols ? bias[j] : 0.0f;
  return padded;
}

template <class To>
void store_as(const StoreArgs& args) {
  using Out = typename To::Out;
  alignas(64) float bias_tail[kPanelColumns];
  alignas(64) float bias_up_tail[kPanelColumns];
  for (int first = 0; first < args.cols; first += kPanelColumns) {
    const int cols = args.cols - first;
    const float* bias = args.bias == nullptr ? nullptr : args.bias + first;
    const float* bias_up = args.bias_up == nullptr ? nullptr : args.bias_up + first;
    if (cols < kPanelColumns) {
      bias = padded_bias(bias, cols, bias_tail);
      bias_up = padded_bias(bias_up, cols, bias_up_tail);
    }
    for (int i = 0; i < args.rows; ++i) {
      const std::int64_t at = i * args.acc_stride + first;
      const StoreBlock block = {args.acc + at, args.acc_up == nullptr ? nullptr : args.acc_up + at,
                                bias, bias_up};
      Out* out = static_cast<Out*>(args.out) + i * args.out_stride + first;
      if (cols >= kPanelColumns) {
        store_block<To>(block, args.activation, out);
      } else {
        alignas(64) Out narrow[kPanelColumns];
        store_block<To>(block, args.activation, narrow);
        for (int j = 0; j < cols; ++j) out[j] = narrow[j];
      }
    }
  }
}

inline void store(const StoreArgs& args) {
  switch (args.out_dtype) {
    case DType::kF32:
      return store_as<ToF32>(args);
    case DType::kBF16:
      return store_as<ToBF16>(args);
    case DType::kF16:
      return store_as<ToF16>(args);
  }
}

}  // namespace
}  // namespace cmm::gemm
