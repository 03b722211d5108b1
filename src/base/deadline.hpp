// The end of a wait. It belongs to the call, not to the object that waits.
#pragma once

#include <chrono>
#include <cstdint>

namespace cmm {

class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds limit)
      : limit_(limit), end_(std::chrono::steady_clock::now() + limit) {}

  bool expired() const { return std::chrono::steady_clock::now() >= end_; }
  std::int64_t limit_ms() const { return limit_.count(); }

 private:
  std::chrono::milliseconds limit_;
  std::chrono::steady_clock::time_point end_;
};

inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace cmm
