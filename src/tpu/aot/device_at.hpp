// Where a device of a slice is.
#pragma once

#include <array>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace cmm::tpu::aot {

struct DeviceAt {
  std::array<std::int64_t, 3> chip = {};  // x, y, z
  std::int64_t core = 0;                  // of the chip
  friend bool operator==(const DeviceAt&, const DeviceAt&) = default;
};

// "x y z core" of each, one a line.
inline std::string places_text(const std::vector<DeviceAt>& devices) {
  std::string text;
  for (const DeviceAt& at : devices) {
    text += cat(at.chip[0], " ", at.chip[1], " ", at.chip[2], " ", at.core, "\n");
  }
  return text;
}
inline std::vector<DeviceAt> places_in(const std::string& text) {
  std::istringstream in(text);
  std::vector<DeviceAt> devices;
  for (DeviceAt at; in >> at.chip[0] >> at.chip[1] >> at.chip[2] >> at.core;) {
    devices.push_back(at);
  }
  return devices;
}

}  // namespace cmm::tpu::aot
