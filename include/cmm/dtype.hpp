// Element types and their conversions. The conversions are exact from 16 bits to f32 and round to
// nearest even from f32 to 16 bits; every NaN becomes the canonical quiet NaN of the target type.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cmm {

enum class DType : std::uint8_t { kF32, kBF16, kF16 };

std::string_view dtype_name(DType dtype);  // "f32", "bf16", "f16"
DType parse_dtype(std::string_view name);  // throws Error(kInvalidArgument)
constexpr std::size_t dtype_bytes(DType dtype) { return dtype == DType::kF32 ? 4 : 2; }

// Storage types: 16 bits with a meaning, no arithmetic.
struct BFloat16 {
  std::uint16_t bits = 0;
  friend bool operator==(BFloat16, BFloat16) = default;
};
struct Float16 {
  std::uint16_t bits = 0;
  friend bool operator==(Float16, Float16) = default;
};

float to_float(BFloat16 value);
float to_float(Float16 value);
inline float to_float(float value) { return value; }

BFloat16 to_bf16(float value);
Float16 to_f16(float value);

inline constexpr std::uint32_t kCanonicalNanF32 = 0x7fc00000u;
inline constexpr std::uint16_t kCanonicalNanBF16 = 0x7fc0u;
inline constexpr std::uint16_t kCanonicalNanF16 = 0x7e00u;

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::kBF16;
};
template <>
struct DTypeOf<Float16> {
  static constexpr DType value = DType::kF16;
};

}  // namespace cmm
