#include "tpu/interpret/elements.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "base/check.hpp"
#include "cmm/dtype.hpp"

namespace cmm::tpu {
namespace {

const std::array<float, 256>& f8_values() {
  static const std::array<float, 256> kValues = [] {
    std::array<float, 256> values{};
    for (std::size_t bits = 0; bits < values.size(); ++bits) {
      values[bits] = f8e4m3_value(static_cast<std::uint8_t>(bits));
    }
    return values;
  }();
  return kValues;
}

}  // namespace

float round_to(Element element, float value) {
  CMM_DCHECK(!is_integer(element));
  if (element == Element::kBF16) return to_float(to_bf16(value));
  if (element == Element::kF8E4M3) return f8_values()[to_f8e4m3(value)];
  return value;
}

void load_floats(Element element, const std::byte* from, std::span<float> to) {
  CMM_DCHECK(!is_integer(element));
  if (element == Element::kF32) {
    std::memcpy(to.data(), from, to.size_bytes());
  } else if (element == Element::kBF16) {
    // What to_float() does, but in line, which becomes vector instructions: rows of bf16 are most
    // of what a run moves.
    for (std::size_t i = 0; i < to.size(); ++i) {
      std::uint16_t bits;
      std::memcpy(&bits, from + 2 * i, sizeof bits);
      to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    }
  } else {
    const std::array<float, 256>& values = f8_values();
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = values[std::to_integer<std::size_t>(from[i])];
    }
  }
}

void store_floats(Element element, std::span<const float> from, std::byte* to) {
  CMM_DCHECK(!is_integer(element));
  if (element == Element::kF32) {
    std::memcpy(to, from.data(), from.size_bytes());
  } else if (element == Element::kBF16) {
    // Numbers of bf16 need no rounding.
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(from[i]) >> 16);
      std::memcpy(to + 2 * i, &bits, sizeof bits);
    }
  } else {
    for (std::size_t i = 0; i < from.size(); ++i) store_float(Element::kF8E4M3, from[i], to + i);
  }
}

void load_integers(Element element, const std::byte* from, std::span<std::int32_t> to) {
  const int bytes = element_bytes(element);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = load_integer(element, from + bytes * i);
}

void store_integers(Element element, std::span<const std::int32_t> from, std::byte* to) {
  const int bytes = element_bytes(element);
  for (std::size_t i = 0; i < from.size(); ++i) store_integer(element, from[i], to + bytes * i);
}

void poison(Element element, std::span<std::byte> memory) {
  if (memory.empty()) return;
  if (element == Element::kS8) {
    store_integer(element, std::numeric_limits<std::int8_t>::max(), memory.data());
  } else if (element == Element::kS32) {
    store_integer(element, std::numeric_limits<std::int32_t>::max(), memory.data());
  } else {
    store_float(element, std::numeric_limits<float>::quiet_NaN(), memory.data());
  }
  // What is there is doubled: a call for each element would be half the time of a small run.
  for (std::size_t done = element_bytes(element); done < memory.size(); done *= 2) {
    std::memcpy(&memory[done], memory.data(), std::min(done, memory.size() - done));
  }
}

}  // namespace cmm::tpu
