#pragma once

#include <chrono>

namespace cmm::cli {

// Monotonic, from some fixed moment.
inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace cmm::cli
