// The activations in f32, compiled once per instruction set (see tables.hpp). Additions, products,
// quotients, explicit fmas and integer operations in one fixed order, no branch: every set
// computes the same bits, and a loop over columns becomes vector code. What each is, how exact it
// is and where its coefficients come from: docs/numerics.md.
#pragma once

#include <cstdint>

namespace cmm::gemm {
namespace {

struct Exp {
  float fraction;  // e^z = fraction * scale, fraction in [0.7, 1.42]
  float scale;     // a power of two; neither the product nor it is subnormal, which would be slow
};

// e^(z + z_low) for -87 <= z <= 0 and |z_low| well below |z|. A NaN z gives a NaN fraction.
inline Exp exp_parts(float z, float z_low) {
  constexpr double kLn2 = 0.69314718055994530942;
  constexpr auto kLn2High = static_cast<float>(kLn2);
  constexpr auto kLn2Low = static_cast<float>(kLn2 - static_cast<double>(kLn2High));
  constexpr float kLog2E = 1.44269504f;
  constexpr float kRound = 0x1.8p23f;  // adding it leaves round(z / ln 2) in the low bits

  const float shifted = __builtin_fmaf(z, kLog2E, kRound);
  const float n = shifted - kRound;
  const float r =
      __builtin_fmaf(n, -kLn2Low, __builtin_fmaf(n, -kLn2High, z)) + z_low;  // |r| <= ln 2 / 2
  float p = 1.0f / 5040;  // Taylor: the first term left out is below 2^-27
  p = __builtin_fmaf(p, r, 1.0f / 720);
  p = __builtin_fmaf(p, r, 1.0f / 120);
  p = __builtin_fmaf(p, r, 1.0f / 24);
  p = __builtin_fmaf(p, r, 1.0f / 6);
  p = __builtin_fmaf(p, r, 0.5f);
  p = __builtin_fmaf(p, r, 1.0f);
  p = __builtin_fmaf(p, r, 1.0f);

  const std::uint32_t exponent =
      __builtin_bit_cast(std::uint32_t, shifted) - __builtin_bit_cast(std::uint32_t, kRound);
  return {p, __builtin_bit_cast(float, (exponent + 127u) << 23)};
}

inline float absolute(float x) {
  return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, x) & 0x7fffffffu);
}

// Where an activation that falls to -0 on one side and to x on the other is computed. Below `low`
// it is -0 by definition, above `high` the bits are those of x.
struct Limits {
  float low;
  float high;
};
inline float clamp(float x, Limits limits) {  // a NaN stays
  const float at_least = x < limits.low ? limits.low : x;
  return at_least > limits.high ? limits.high : at_least;
}

// x / (1 + e^-z) for z of the sign of x, given e^-|z|; x * e^z / (1 + e^z) below 0, where
// `clamped` stands for x.
inline float times_sigmoid(float x, float clamped, Exp e) {
  const float numerator = x >= 0.0f ? x : clamped * e.fraction;
  const float quotient = numerator / (1.0f + e.fraction * e.scale);
  const float scaled = quotient * e.scale;
  return x >= 0.0f ? quotient : scaled;
}

inline float relu(float x) { return x <= 0.0f ? 0.0f : x; }  // relu(NaN) is NaN, relu(-0) is +0

// x / (1 + e^-x)
inline float silu(float x) {
  constexpr Limits kLimits = {-87.0f, 20.0f};  // silu(-87) is -1.4e-36
  const float clamped = clamp(x, kLimits);
  const float result = times_sigmoid(x, clamped, exp_parts(-absolute(clamped), 0.0f));
  return x < kLimits.low ? -0.0f : result;
}

// x * (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2 = x / (1 + e^-z), z = x (c1 + c3 x^2). z is
// carried in two floats: e^z amplifies its relative error by |z|, up to 87.
inline float gelu_tanh(float x) {
  constexpr double kC1 = 1.5957691216057308;  // 2 sqrt(2 / pi)
  constexpr double kC3 = kC1 * 0.044715;
  constexpr auto kC1High = static_cast<float>(kC1);
  constexpr auto kC1Low = static_cast<float>(kC1 - static_cast<double>(kC1High));
  constexpr auto kC3High = static_cast<float>(kC3);
  constexpr auto kC3Low = static_cast<float>(kC3 - static_cast<double>(kC3High));
  constexpr Limits kLimits = {-9.9f, 6.0f};  // gelu_tanh(-9.9) is -1.2e-36

  const float clamped = clamp(x, kLimits);
  const float a = absolute(clamped);
  const float square = a * a;
  const float square_low = __builtin_fmaf(a, a, -square);
  const float cubic = kC3High * square;
  const float cubic_low = __builtin_fmaf(
      kC3Low, square, __builtin_fmaf(kC3High, square_low, __builtin_fmaf(kC3High, square, -cubic)));
  const float sum = kC1High + cubic;
  const float part = sum - kC1High;
  const float sum_low = ((kC1High - (sum - part)) + (cubic - part)) + (cubic_low + kC1Low);
  const float z = a * sum;
  const float z_low = __builtin_fmaf(a, sum_low, __builtin_fmaf(a, sum, -z));
  const float result = times_sigmoid(x, clamped, exp_parts(-z, -z_low));
  return x < kLimits.low ? -0.0f : result;
}

// x (1 + erf(x / sqrt 2)) / 2 = x (1 - q) for x >= 0 and x q below, where
// q(a) = erfc(a / sqrt 2) / 2 = e^(-a^2 / 2) t P(1 - 2 t), t = K / (K + a), a = |x|. P is the
// Chebyshev interpolation of degree 9 over 0 <= a <= 12.5 for K = 2.5, relative error 1.7e-8.
inline float gelu_erf(float x) {
  constexpr float kK = 2.5f;
  constexpr Limits kLimits = {-12.5f, 6.0f};  // gelu_erf(-12.5) is -4.7e-35

  const float clamped = clamp(x, kLimits);
  const float a = absolute(clamped);
  const float square = a * a;
  const Exp e = exp_parts(-0.5f * square, -0.5f * __builtin_fmaf(a, a, -square));
  const float t = kK / (kK + a);
  const float u = __builtin_fmaf(-2.0f, t, 1.0f);
  float p = -0x1.00de62p-14f;
  p = __builtin_fmaf(p, u, -0x1.ff9e76p-14f);
  p = __builtin_fmaf(p, u, 0x1.1e0704p-12f);
  p = __builtin_fmaf(p, u, 0x1.080aeap-10f);
  p = __builtin_fmaf(p, u, -0x1.4fad54p-11f);
  p = __builtin_fmaf(p, u, -0x1.ad82dep-8f);
  p = __builtin_fmaf(p, u, 0x1.e439fap-9f);
  p = __builtin_fmaf(p, u, 0x1.b07e94p-5f);
  p = __builtin_fmaf(p, u, -0x1.6347cep-3f);
  p = __builtin_fmaf(p, u, 0x1.217252p-2f);
  const float q = t * p * e.fraction;
  const float positive = x * (1.0f - q * e.scale);
  const float negative = clamped * q * e.scale;
  const float result = x >= 0.0f ? positive : negative;
  return x < kLimits.low ? -0.0f : result;
}

}  // namespace
}  // namespace cmm::gemm
