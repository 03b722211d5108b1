// Conversions between f32 and the 16-bit types, checked against a search for the nearest value.
#include "cmm/dtype.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "cmm/error.hpp"

namespace cmm::test {
namespace {

// What the checks need to know of a 16-bit type.
template <class T>
struct Format;
template <>
struct Format<BFloat16> {
  static constexpr int kMantissaBits = 7;
  static constexpr int kBias = 127;
  static constexpr std::uint16_t kNaN = kCanonicalNanBF16;
  static BFloat16 from(float value) { return to_bf16(value); }
};
template <>
struct Format<Float16> {
  static constexpr int kMantissaBits = 10;
  static constexpr int kBias = 15;
  static constexpr std::uint16_t kNaN = kCanonicalNanF16;
  static Float16 from(float value) { return to_f16(value); }
};

template <class T>
constexpr std::uint16_t kInfinityBits = static_cast<std::uint16_t>(0x7fff >>
                                                                   Format<T>::kMantissaBits
                                                                       << Format<T>::kMantissaBits);

// The value of non-negative bits by the definition of the format. Infinity counts as the number
// that would follow the largest one, which is how rounding treats it.
template <class T>
double decode(std::uint16_t bits) {
  const int exponent = bits >> Format<T>::kMantissaBits;
  const int mantissa = bits & ((1 << Format<T>::kMantissaBits) - 1);
  const int leading = exponent == 0 ? 0 : 1 << Format<T>::kMantissaBits;
  return std::ldexp(leading + mantissa,
                    std::max(exponent, 1) - Format<T>::kBias - Format<T>::kMantissaBits);
}

// The nearest bits to |value|, ties to even, by binary search over all values.
template <class T>
std::uint16_t nearest(float value) {
  const double magnitude = std::fabs(static_cast<double>(value));
  std::uint16_t low = 0;
  std::uint16_t high = kInfinityBits<T>;
  if (magnitude >= decode<T>(high)) return high;
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (decode<T>(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - decode<T>(low);
  const double above = decode<T>(high) - magnitude;
  if (below != above) return below < above ? low : high;
  return low % 2 == 0 ? low : high;
}

template <class T>
class Conversions : public testing::Test {
 protected:
  void expect_nearest(float value) {
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    ASSERT_EQ(Format<T>::from(value).bits, static_cast<std::uint16_t>(nearest<T>(value) | sign))
        << "of " << value << " = " << std::hex << std::bit_cast<std::uint32_t>(value);
  }
};
using Types = testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(Conversions, Types);

TYPED_TEST(Conversions, AllValuesAreExactInF32AndComeBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const TypeParam value{static_cast<std::uint16_t>(bits)};
    const auto magnitude = static_cast<std::uint16_t>(bits & 0x7fff);
    const float f32 = to_float(value);
    if (magnitude > kInfinityBits<TypeParam>) {
      ASSERT_TRUE(std::isnan(f32)) << bits;
      ASSERT_EQ(Format<TypeParam>::from(f32).bits, Format<TypeParam>::kNaN);
      continue;
    }
    ASSERT_EQ(std::signbit(f32), bits >= 0x8000);
    if (magnitude == kInfinityBits<TypeParam>) {
      ASSERT_TRUE(std::isinf(f32));
    } else {
      ASSERT_EQ(std::fabs(static_cast<double>(f32)), decode<TypeParam>(magnitude)) << bits;
    }
    ASSERT_EQ(Format<TypeParam>::from(f32), value);
  }
}

TYPED_TEST(Conversions, RoundToNearestEvenAroundEveryMidpoint) {
  for (std::uint32_t bits = 0; bits < kInfinityBits<TypeParam>; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits);
    const auto high = static_cast<std::uint16_t>(bits + 1);
    const auto midpoint =
        static_cast<float>((decode<TypeParam>(low) + decode<TypeParam>(high)) / 2);
    for (float sign : {1.0f, -1.0f}) {
      this->expect_nearest(sign * midpoint);
      this->expect_nearest(sign * std::nextafter(midpoint, 0.0f));
      this->expect_nearest(sign * std::nextafter(midpoint, std::numeric_limits<float>::infinity()));
    }
  }
}

TYPED_TEST(Conversions, RoundRandomBits) {
  std::mt19937 random(3);
  for (int i = 0; i < 200000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isnan(value)) this->expect_nearest(value);
  }
}

TYPED_TEST(Conversions, MakeEveryNanCanonical) {
  for (std::uint32_t bits : {0x7fc00000u, 0x7f800001u, 0xffc00000u, 0xffffffffu, 0x7fbfffffu}) {
    EXPECT_EQ(Format<TypeParam>::from(std::bit_cast<float>(bits)).bits, Format<TypeParam>::kNaN);
  }
}

TEST(DTypeNames, AreReadBack) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    EXPECT_EQ(parse_dtype(dtype_name(dtype)), dtype);
  }
  for (const char* wrong : {"", "F32", "float32", "bf16 "}) {
    try {
      parse_dtype(wrong);
      FAIL() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find("f32, bf16, f16"), std::string::npos);
    }
  }
}

TEST(DTypeSizes, AreThoseOfTheStorageTypes) {
  EXPECT_EQ(dtype_bytes(DType::kF32), sizeof(float));
  EXPECT_EQ(dtype_bytes(DType::kBF16), sizeof(BFloat16));
  EXPECT_EQ(dtype_bytes(DType::kF16), sizeof(Float16));
}

}  // namespace
}  // namespace cmm::test
