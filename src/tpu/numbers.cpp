#include "tpu/numbers.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.hpp"
#include "cmm/dtype.hpp"

namespace cmm::tpu {
namespace {

template <class T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void write(T value, std::byte* at) {
  std::memcpy(at, &value, sizeof value);
}

constexpr int kMantissaBits = 3;
constexpr int kBias = 7;
constexpr std::uint8_t kNanBits = 0x7f;

}  // namespace

float f8e4m3_value(std::uint8_t bits) {
  const int exponent = (bits >> kMantissaBits) & 0xf;
  const int mantissa = bits & 0x7;
  if ((bits & 0x7f) == kNanBits) {
    // With its sign, so that storing it again yields the same bits.
    return std::bit_cast<float>(kCanonicalNanF32 | static_cast<std::uint32_t>(bits & 0x80) << 24);
  }
  const float magnitude =
      exponent == 0
          ? std::ldexp(static_cast<float>(mantissa), 1 - kBias - kMantissaBits)
          : std::ldexp(static_cast<float>(8 + mantissa), exponent - kBias - kMantissaBits);
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

std::uint8_t to_f8e4m3(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint8_t>((bits >> 24) & 0x80u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // 464 lies halfway between 448, which is even, and the 480 that its successor would be.
  if (!(std::bit_cast<float>(magnitude) <= 464.0f)) {
    return static_cast<std::uint8_t>(sign | kNanBits);
  }
  if (magnitude < std::bit_cast<std::uint32_t>(0x1p-6f)) {
    // Subnormal: adding 2^14 aligns the value to units of 2^-9, rounded by the addition itself.
    const float aligned = std::bit_cast<float>(magnitude) + 0x1p14f;
    return static_cast<std::uint8_t>(
        sign | (std::bit_cast<std::uint32_t>(aligned) - std::bit_cast<std::uint32_t>(0x1p14f)));
  }
  const std::uint32_t rounded = magnitude + 0x7ffffu + ((magnitude >> 20) & 1u);
  return static_cast<std::uint8_t>(sign | ((rounded - (120u << 23)) >> 20));
}

float load_float(Element element, const std::byte* at) {
  switch (element) {
    case Element::kBF16:
      return to_float(BFloat16{read<std::uint16_t>(at)});
    case Element::kF8E4M3:
      return f8e4m3_value(read<std::uint8_t>(at));
    default:
      CMM_DCHECK(element == Element::kF32);
      return read<float>(at);
  }
}

void store_float(Element element, float value, std::byte* at) {
  switch (element) {
    case Element::kBF16:
      return write(to_bf16(value).bits, at);
    case Element::kF8E4M3:
      return write(to_f8e4m3(value), at);
    default:
      CMM_DCHECK(element == Element::kF32);
      return write(value, at);
  }
}

std::int32_t load_integer(Element element, const std::byte* at) {
  CMM_DCHECK(is_integer(element));
  return element == Element::kS8 ? read<std::int8_t>(at) : read<std::int32_t>(at);
}

void store_integer(Element element, std::int32_t value, std::byte* at) {
  CMM_DCHECK(is_integer(element));
  if (element == Element::kS8) return write(static_cast<std::int8_t>(value), at);
  write(value, at);
}

}  // namespace cmm::tpu
