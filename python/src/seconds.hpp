// Deadlines: seconds in Python, milliseconds in C++.
#pragma once

#include <chrono>
#include <cmath>
#include <string>

#include "cmm/error.hpp"

namespace cmm::python {

inline double seconds_of(std::chrono::milliseconds deadline) {
  return std::chrono::duration<double>(deadline).count();
}

// At least a millisecond; longer than a century is a century. Throws Error(kInvalidArgument) unless
// it is a number above 0.
inline std::chrono::milliseconds deadline_of(double seconds) {
  if (!(seconds > 0)) {
    throw Error(ErrorCode::kInvalidArgument,
                "deadline_seconds is " + std::to_string(seconds) + "; it must be above 0");
  }
  constexpr double kCentury = 3.2e9;
  return std::chrono::milliseconds(
      static_cast<long long>(std::ceil(std::fmin(seconds, kCentury) * 1e3)));
}

}  // namespace cmm::python
