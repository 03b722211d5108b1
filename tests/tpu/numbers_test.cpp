// Conversions of elements: every fp8 value, and every way to lie between two of them.
#include "tpu/numbers.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace cmm::tpu {
namespace {

TEST(Fp8, HasTheValuesOfE4M3) {
  EXPECT_EQ(f8e4m3_value(0x01), 0x1p-9f);  // the least subnormal
  EXPECT_EQ(f8e4m3_value(0x08), 0x1p-6f);  // the least normal
  EXPECT_EQ(f8e4m3_value(0x38), 1.0f);
  EXPECT_EQ(f8e4m3_value(0x7e), 448.0f);
  EXPECT_EQ(f8e4m3_value(0xfe), -448.0f);
  EXPECT_TRUE(std::isnan(f8e4m3_value(0x7f)));
  EXPECT_TRUE(std::isnan(f8e4m3_value(0xff)));
}

TEST(Fp8, KeepsItsBitsFromLoadToStore) {
  for (int bits = 0; bits < 0x100; ++bits) {
    EXPECT_EQ(to_f8e4m3(f8e4m3_value(static_cast<std::uint8_t>(bits))), bits);
  }
}

TEST(Fp8, RoundsToTheNearestAndTiesToEven) {
  for (int bits = 0; bits < 0x7f; ++bits) {
    const auto low = static_cast<std::uint8_t>(bits);
    const float value = f8e4m3_value(low);
    EXPECT_EQ(to_f8e4m3(value), low);
    EXPECT_EQ(to_f8e4m3(-value), low | 0x80);
    // 480 would be the next where there is none.
    const auto high = static_cast<std::uint8_t>(bits + 1);
    const float next = bits == 0x7e ? 480.0f : f8e4m3_value(high);
    const float middle = (value + next) / 2;  // exact
    EXPECT_EQ(to_f8e4m3(middle), bits % 2 == 0 ? low : high) << value;
    EXPECT_EQ(to_f8e4m3(std::nextafter(middle, value)), low) << value;
    EXPECT_EQ(to_f8e4m3(std::nextafter(middle, next)), high) << value;
  }
}

TEST(Fp8, HasNoInfinity) {
  for (const float value : {480.0f, 1e30f, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_TRUE(std::isnan(f8e4m3_value(to_f8e4m3(value)))) << value;
    EXPECT_TRUE(std::isnan(f8e4m3_value(to_f8e4m3(-value)))) << value;
  }
}

TEST(Numbers, LieInMemoryAsTheirElementSays) {
  std::array<std::byte, 4> memory{};
  for (const Element element : {Element::kF32, Element::kBF16, Element::kF8E4M3}) {
    store_float(element, -20.0f, memory.data());
    EXPECT_EQ(load_float(element, memory.data()), -20.0f) << element_name(element);
  }
  store_float(Element::kBF16, 257.0f, memory.data());
  EXPECT_EQ(load_float(Element::kBF16, memory.data()), 256.0f);
  store_integer(Element::kS32, -70000, memory.data());
  EXPECT_EQ(load_integer(Element::kS32, memory.data()), -70000);
  store_integer(Element::kS8, 200, memory.data());
  EXPECT_EQ(load_integer(Element::kS8, memory.data()), 200 - 256);
}

}  // namespace
}  // namespace cmm::tpu
