// Rows of elements between memory and virtual devices, which compute with floats of every type as
// float, which holds them all exactly, and with integers as int32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tpu/numbers.hpp"

namespace cmm::tpu {

// To the nearest number that the float type has.
float round_to(Element element, float value);

// What is stored must be numbers that the type has.
void load_floats(Element element, const std::byte* from, std::span<float> to);
void store_floats(Element element, std::span<const float> from, std::byte* to);
void load_integers(Element element, const std::byte* from, std::span<std::int32_t> to);
void store_integers(Element element, std::span<const std::int32_t> from, std::byte* to);

// What memory holds before anything is written: NaN, or the largest integer.
void poison(Element element, std::span<std::byte> memory);

}  // namespace cmm::tpu
