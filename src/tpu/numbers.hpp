// Elements as they lie in memory, little-endian, and their rounding: to nearest, ties to even.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cmm/tpu_chip.hpp"

namespace cmm::tpu {

// fp8 is E4M3 without infinities: the largest is 448, and what would round to more than that is
// NaN, as in XLA's conversions.
float f8e4m3_value(std::uint8_t bits);
std::uint8_t to_f8e4m3(float value);

// Of f32, bf16 and fp8.
float load_float(Element element, const std::byte* at);
void store_float(Element element, float value, std::byte* at);

// Of int8 and int32; int8 keeps the low bits.
std::int32_t load_integer(Element element, const std::byte* at);
void store_integer(Element element, std::int32_t value, std::byte* at);

constexpr bool is_integer(Element element) {
  return element == Element::kS8 || element == Element::kS32;
}

}  // namespace cmm::tpu
