// What a product has to be, bit for bit (docs/numerics.md), in plain scalar code that shares
// nothing with src/gemm: libm's fmaf, ldexp and nearbyint instead of bit operations.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "cmm/dtype.hpp"
#include "cmm/epilogue.hpp"
#include "cmm/isa.hpp"

namespace cmm::test {

// A dense row-major matrix of f32 values, some of which came from 16-bit ones.
struct Values {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<float> data;

  Values() = default;
  Values(std::int64_t num_rows, std::int64_t num_cols, float value = 0.0f)
      : rows(num_rows),
        cols(num_cols),
        data(static_cast<std::size_t>(num_rows * num_cols), value) {}
  float& at(std::int64_t i, std::int64_t j) { return data[static_cast<std::size_t>(i * cols + j)]; }
  float at(std::int64_t i, std::int64_t j) const {
    return data[static_cast<std::size_t>(i * cols + j)];
  }
};

// The two definitions of a sum over k.
enum class SumRule {
  kChain,      // sum = fmaf(x, y, sum) over ascending k, from +0
  kBf16Pairs,  // native bf16: per pair the odd k, then the even one; subnormals count as zero
};
inline SumRule sum_rule(Isa isa, DType dtype) {
  return isa == Isa::kAvx512Bf16 && dtype == DType::kBF16 ? SumRule::kBf16Pairs : SumRule::kChain;
}

inline float flush_subnormal(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

// sum over k of x[i, k] * y[k, j].
inline float oracle_sum(const Values& x, const Values& y, std::int64_t i, std::int64_t j,
                        SumRule rule) {
  const std::int64_t k = x.cols;
  float sum = 0.0f;
  if (rule == SumRule::kChain) {
    for (std::int64_t p = 0; p < k; ++p) sum = std::fmaf(x.at(i, p), y.at(p, j), sum);
    return sum;
  }
  for (std::int64_t even = 0; even < k; even += 2) {
    for (std::int64_t p : {even + 1, even}) {
      const float xp = p < k ? flush_subnormal(x.at(i, p)) : 0.0f;
      const float yp = p < k ? flush_subnormal(y.at(p, j)) : 0.0f;
      sum = flush_subnormal(std::fmaf(xp, yp, sum));
    }
  }
  return sum;
}

// e^(high + low) as fraction * 2^exponent.
struct OracleExp {
  float fraction;
  int exponent;
};
inline OracleExp oracle_exp(float high, float low) {
  const auto n = static_cast<float>(std::nearbyint(static_cast<double>(high) * 1.44269504f));
  const float ln2_high = 0.693147182f;
  const auto ln2_low = static_cast<float>(0.69314718055994530942 - ln2_high);
  float r = std::fmaf(-n, ln2_high, high);
  r = std::fmaf(-n, ln2_low, r);
  r += low;
  const double factorials[] = {5040, 720, 120, 24, 6, 2, 1, 1};
  float fraction = 0.0f;
  for (double factorial : factorials) {
    fraction = std::fmaf(fraction, r, static_cast<float>(1.0 / factorial));
  }
  return {fraction, static_cast<int>(n)};
}
inline float scaled(float value, int exponent) {  // rounded once
  return static_cast<float>(std::ldexp(static_cast<double>(value), exponent));
}

// x * e^z / (1 + e^z) below 0, the same in the form that cannot overflow above.
inline float oracle_times_sigmoid(float x, float z_high, float z_low) {
  const OracleExp e = oracle_exp(-z_high, -z_low);
  const float denominator = 1.0f + scaled(e.fraction, e.exponent);
  return x >= 0.0f ? x / denominator : scaled(x * e.fraction / denominator, e.exponent);
}

inline float oracle_silu(float x) {
  if (x < -87.0f) return -0.0f;
  return oracle_times_sigmoid(x, std::fabs(std::fmin(x, 20.0f)), 0.0f);
}

inline float oracle_gelu_tanh(float x) {
  const double c1 = std::sqrt(8.0 / 3.14159265358979323846);
  const double c3 = c1 * 0.044715;
  const auto c1_high = static_cast<float>(c1);
  const auto c3_high = static_cast<float>(c3);
  const auto c1_low = static_cast<float>(c1 - c1_high);
  const auto c3_low = static_cast<float>(c3 - c3_high);
  if (x < -9.9f) return -0.0f;
  const float a = std::fabs(std::fmin(x, 6.0f));
  const float square = a * a;
  // Products of two floats are exact in double, so these are the errors of the f32 operations.
  const auto square_low = static_cast<float>(static_cast<double>(a) * a - square);
  const float cubic = c3_high * square;
  float cubic_low = static_cast<float>(static_cast<double>(c3_high) * square - cubic);
  cubic_low = std::fmaf(c3_high, square_low, cubic_low);
  cubic_low = std::fmaf(c3_low, square, cubic_low);
  const float sum = c1_high + cubic;
  const auto sum_error = static_cast<float>(static_cast<double>(c1_high) + cubic - sum);
  const float sum_low = sum_error + (cubic_low + c1_low);
  const float z = a * sum;
  const auto z_error = static_cast<float>(static_cast<double>(a) * sum - z);
  return oracle_times_sigmoid(x, z, std::fmaf(a, sum_low, z_error));
}

inline float oracle_gelu_erf(float x) {
  if (x < -12.5f) return -0.0f;
  const float a = std::fabs(std::fmin(x, 6.0f));
  const float square = a * a;
  const auto square_low = static_cast<float>(static_cast<double>(a) * a - square);
  const OracleExp e = oracle_exp(-square / 2, -square_low / 2);
  const float t = 2.5f / (2.5f + a);
  const float u = static_cast<float>(1.0 - 2.0 * static_cast<double>(t));
  const float coefficients[] = {
      -0x1.00de62p-14f, -0x1.ff9e76p-14f, 0x1.1e0704p-12f, 0x1.080aeap-10f, -0x1.4fad54p-11f,
      -0x1.ad82dep-8f,  0x1.e439fap-9f,   0x1.b07e94p-5f,  -0x1.6347cep-3f, 0x1.217252p-2f};
  float p = 0.0f;
  for (float coefficient : coefficients) p = std::fmaf(p, u, coefficient);
  const float q = t * p * e.fraction;
  if (x >= 0.0f) return x * (1.0f - scaled(q, e.exponent));
  return scaled(x * q, e.exponent);
}

inline float oracle_activation(Activation activation, float x) {
  if (std::isnan(x)) return x;
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x > 0.0f ? x : 0.0f;
    case Activation::kGeluTanh:
      return oracle_gelu_tanh(x);
    case Activation::kGeluErf:
      return oracle_gelu_erf(x);
    case Activation::kSilu:
      return oracle_silu(x);
  }
  return std::numeric_limits<float>::quiet_NaN();
}

// The bits of an output element, in the low half for 16-bit types.
inline std::uint32_t output_bits(DType dtype, float value) {
  switch (dtype) {
    case DType::kF32:
      return std::isnan(value) ? kCanonicalNanF32 : std::bit_cast<std::uint32_t>(value);
    case DType::kBF16:
      return to_bf16(value).bits;
    case DType::kF16:
      return to_f16(value).bits;
  }
  return 0;
}

}  // namespace cmm::test
