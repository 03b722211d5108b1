#include "cmm/dtype.hpp"

#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm {

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kBF16:
      return "bf16";
    case DType::kF16:
      return "f16";
  }
  return "unknown";
}

DType parse_dtype(std::string_view name) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    if (name == dtype_name(dtype)) return dtype;
  }
  throw Error(ErrorCode::kInvalidArgument,
              cat("unknown dtype '", name, "'; known are f32, bf16, f16"));
}

float to_float(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

float to_float(Float16 value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = value.bits & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact in f32
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  if (exponent == 31) {
    return std::bit_cast<float>(mantissa != 0 ? kCanonicalNanF32 : (sign | 0x7f800000u));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

BFloat16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {kCanonicalNanBF16};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

Float16 to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {kCanonicalNanF16};
  // 65520 lies halfway between the largest finite f16 (65504) and 2^16: from it on, infinity.
  if (magnitude >= std::bit_cast<std::uint32_t>(65520.0f)) {
    return {static_cast<std::uint16_t>(sign | 0x7c00u)};
  }
  if (magnitude < std::bit_cast<std::uint32_t>(0x1p-14f)) {
    // Subnormal: adding 0.5 aligns the value to units of 2^-24, rounded to nearest even by the
    // addition itself.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<std::uint16_t>(
        sign | (std::bit_cast<std::uint32_t>(aligned) - std::bit_cast<std::uint32_t>(0.5f)))};
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return {static_cast<std::uint16_t>(sign | ((rounded - (112u << 23)) >> 13))};
}

}  // namespace cmm
