// The activations in f32, compiled once per instruction set (see tables.hpp). Additions, products,
// quotients, explicit fmas and integer operations in one fixed order, no branch: every set
// computes the same bits, and a loop over columns becomes vector code. What each is, how exact it
// is and where its coefficients come from: docs/numerics.md.
#pragma once

#include <cstdint>

namespace cmm::gemm {
namespace {

struct Exp {
  float fraction;  // e^z = fraction * scale1 * scale2, fraction in [0.7, 1.42]
  float scale1;    // two powers of two, so that a result that is subnormal is rounded once
  float scale2;
};

// e^(z + z_low) for -125 <= z <= 0 and |z_low| well below |z|. A NaN z gives a NaN fraction.
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
  const auto half = static_cast<std::uint32_t>(static_cast<std::int32_t>(exponent) >> 1);
  return {p, __builtin_bit_cast(float, (half + 127u) << 23),
          __builtin_bit_cast(float, (exponent - half + 127u) << 23)};
}

inline float absolute(float x) {
  return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, x) & 0x7fffffffu);
}
inline float at_least(float x, float low) { return x < low ? low : x; }  // NaN stays
inline float at_most(float x, float high) { return x > high ? high : x; }

// x / (1 + e^-z) for z of the sign of x, given e^-|z|; x * e^z / (1 + e^z) below 0. `x_clamped`
// is x, or where x is so low that the result is -0 anyway, a finite number.
inline float times_sigmoid(float x, float x_clamped, Exp e) {
  const float numerator = x >= 0.0f ? x : x_clamped * e.fraction;
  const float quotient = numerator / (1.0f + e.fraction * e.scale1 * e.scale2);
  const float scaled = quotient * e.scale1 * e.scale2;
  return x >= 0.0f ? quotient : scaled;
}

inline float relu(float x) { return x <= 0.0f ? 0.0f : x; }  // relu(NaN) is NaN, relu(-0) is +0

inline float silu(float x) {
  constexpr float kLimit = 120.0f;  // silu(-120) is -9e-51
  return times_sigmoid(x, at_least(x, -kLimit), exp_parts(-at_most(absolute(x), kLimit), 0.0f));
}

// x * (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2 = x / (1 + e^-z), z = x (c1 + c3 x^2). z is
// carried in two floats: e^z amplifies its relative error by |z|, up to 100.
inline float gelu_tanh(float x) {
  constexpr double kC1 = 1.5957691216057308;  // 2 sqrt(2 / pi)
  constexpr double kC3 = kC1 * 0.044715;
  constexpr auto kC1High = static_cast<float>(kC1);
  constexpr auto kC1Low = static_cast<float>(kC1 - static_cast<double>(kC1High));
  constexpr auto kC3High = static_cast<float>(kC3);
  constexpr auto kC3Low = static_cast<float>(kC3 - static_cast<double>(kC3High));
  constexpr float kLimit = 11.0f;  // gelu_tanh(-11) is -2e-48

  const float a = at_most(absolute(x), kLimit);
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
  return times_sigmoid(x, at_least(x, -kLimit), exp_parts(-z, -z_low));
}

// x (1 + erf(x / sqrt 2)) / 2 = x (1 - q) for x >= 0 and x q below, where
// q(a) = erfc(a / sqrt 2) / 2 = e^(-a^2 / 2) t P(1 - 2 t), t = K / (K + a), a = |x|. P is the
// Chebyshev interpolation of degree 9 over 0 <= a <= 14.5 for K = 2.5, relative error 1.9e-8.
inline float gelu_erf(float x) {
  constexpr float kLimit = 14.5f;  // gelu_erf(-14.5) is -9e-47
  constexpr float kK = 2.5f;

  const float a = at_most(absolute(x), kLimit);
  const float square = a * a;
  const Exp e = exp_parts(-0.5f * square, -0.5f * __builtin_fmaf(a, a, -square));
  const float t = kK / (kK + a);
  const float u = __builtin_fmaf(-2.0f, t, 1.0f);
  float p = -0x1.094786p-14f;
  p = __builtin_fmaf(p, u, -0x1.06cb48p-13f);
  p = __builtin_fmaf(p, u, 0x1.1eaf86p-12f);
  p = __builtin_fmaf(p, u, 0x1.08d214p-10f);
  p = __builtin_fmaf(p, u, -0x1.4f7a9cp-11f);
  p = __builtin_fmaf(p, u, -0x1.ad910ep-8f);
  p = __builtin_fmaf(p, u, 0x1.e4354ap-9f);
  p = __builtin_fmaf(p, u, 0x1.b07ebep-5f);
  p = __builtin_fmaf(p, u, -0x1.6347cep-3f);
  p = __builtin_fmaf(p, u, 0x1.217252p-2f);
  const float q = t * p * e.fraction;
  const float positive = x * (1.0f - q * e.scale1 * e.scale2);
  const float negative = at_least(x, -kLimit) * q * e.scale1 * e.scale2;
  return x >= 0.0f ? positive : negative;
}

}  // namespace
}  // namespace cmm::gemm
