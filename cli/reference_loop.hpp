// The inner loop of the reference product: plain C++ over columns, which the compiler vectorises.
// It shares no code with the library.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace cmm::cli {

// How one output element is summed (docs/numerics.md).
enum class Chain : std::uint8_t {
  kFma,        // sum = fmaf(x[k], y[k], sum), ascending k
  kBf16Pairs,  // per pair of k the odd element first; subnormals count as and become zero
};

// acc[rows][acc_stride] continues its chains by num_k elements of k. x[i * x_stride + kk] and
// y[kk * y_stride + j] are f32. kBf16Pairs: the block starts at an even k, and an odd last element
// is paired with zeros.
struct ReferenceBlock {
  const float* x = nullptr;
  std::int64_t x_stride = 0;
  const float* y = nullptr;
  std::int64_t y_stride = 0;
  float* acc = nullptr;
  std::int64_t acc_stride = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t num_k = 0;
};

// For the processor at hand; reference_loop_x86.cpp or reference_loop_any.cpp.
void reference_block(const ReferenceBlock& block, Chain chain);

namespace reference_loop {

inline float flushed(float v) {
  return std::fabs(v) < std::numeric_limits<float>::min() ? std::copysign(0.0f, v) : v;
}

// Two rows and four k at a time: each y element loaded serves two chains and each sum loaded
// advances four steps, so that the loop is bound by its arithmetic.
template <int kRows, int kSteps>
[[gnu::always_inline]] inline void fma_columns(const ReferenceBlock& b, std::int64_t i,
                                               std::int64_t kk) {
  const float* __restrict y = b.y + kk * b.y_stride;
  float* __restrict acc0 = b.acc + i * b.acc_stride;
  float* __restrict acc1 = acc0 + (kRows > 1 ? b.acc_stride : 0);
  const float* x0 = b.x + i * b.x_stride + kk;
  const float* x1 = x0 + (kRows > 1 ? b.x_stride : 0);
  float s0[4] = {}, s1[4] = {};
  for (int s = 0; s < kSteps; ++s) s0[s] = x0[s], s1[s] = x1[s];
  const std::int64_t stride = b.y_stride;
  for (std::int64_t j = 0; j < b.cols; ++j) {
    float sum0 = acc0[j];
    float sum1 = kRows > 1 ? acc1[j] : 0.0f;
    for (int s = 0; s < kSteps; ++s) {
      sum0 = __builtin_fmaf(s0[s], y[s * stride + j], sum0);
      if (kRows > 1) sum1 = __builtin_fmaf(s1[s], y[s * stride + j], sum1);
    }
    acc0[j] = sum0;
    if (kRows > 1) acc1[j] = sum1;
  }
}

template <int kRows>
[[gnu::always_inline]] inline void fma_rows(const ReferenceBlock& b, std::int64_t i) {
  std::int64_t kk = 0;
  for (; kk + 4 <= b.num_k; kk += 4) fma_columns<kRows, 4>(b, i, kk);
  for (; kk < b.num_k; ++kk) fma_columns<kRows, 1>(b, i, kk);
}

[[gnu::always_inline]] inline void fma_block(const ReferenceBlock& b) {
  std::int64_t i = 0;
  for (; i + 2 <= b.rows; i += 2) fma_rows<2>(b, i);
  if (i < b.rows) fma_rows<1>(b, i);
}

template <bool kHasOdd>
[[gnu::always_inline]] inline void pair_columns(const ReferenceBlock& b, std::int64_t i,
                                                std::int64_t kk) {
  const float* __restrict even_y = b.y + kk * b.y_stride;
  const float* __restrict odd_y = even_y + (kHasOdd ? b.y_stride : 0);
  float* __restrict acc = b.acc + i * b.acc_stride;
  const float* x = b.x + i * b.x_stride + kk;
  const float even_x = flushed(x[0]);
  const float odd_x = kHasOdd ? flushed(x[1]) : 0.0f;
  for (std::int64_t j = 0; j < b.cols; ++j) {
    const float odd = kHasOdd ? flushed(odd_y[j]) : 0.0f;
    const float sum = flushed(__builtin_fmaf(odd_x, odd, acc[j]));
    acc[j] = flushed(__builtin_fmaf(even_x, flushed(even_y[j]), sum));
  }
}

[[gnu::always_inline]] inline void pair_block(const ReferenceBlock& b) {
  for (std::int64_t i = 0; i < b.rows; ++i) {
    std::int64_t kk = 0;
    for (; kk + 2 <= b.num_k; kk += 2) pair_columns<true>(b, i, kk);
    if (kk < b.num_k) pair_columns<false>(b, i, kk);
  }
}

[[gnu::always_inline]] inline void any_block(const ReferenceBlock& b, Chain chain) {
  chain == Chain::kFma ? fma_block(b) : pair_block(b);
}

}  // namespace reference_loop
}  // namespace cmm::cli
