// The chips that are known, and a file format for those that are not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cmm/tpu_chip.hpp"

namespace cmm::sim {

// data/tpu_chips.json as it was when the library was built: v4, v5e, v5p, v6e, 7x.
std::string_view builtin_chips_text();
const std::vector<tpu::Chip>& builtin_chips();

// Chips of a text in the format of data/tpu_chips.json: {"chips": [{"name": "v6e", "clock_hz":
// {"value": 1.75e9, "source": "..."}, ...}, ...]}, a key for each member of tpu::Chip, mxu_rate an
// object with a key for each element type. Throws Error(kBadFile) that names chip, key and what is
// wrong: a key that is missing, not known, of another type, out of range.
std::vector<tpu::Chip> parse_chips(std::string_view text);

// Throws Error(kInvalidArgument) that lists the names there are.
const tpu::Chip& find_chip(const std::vector<tpu::Chip>& chips, std::string_view name);

}  // namespace cmm::sim
