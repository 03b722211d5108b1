// The end of a wait. It belongs to the call, not to the object that waits.
#pragma once

#include <chrono>
#include <cstdint>

namespace cmm {

inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class Deadline {
 public:
  // A limit beyond ten years means ten years: the clock counts nanoseconds in 63 bits.
  explicit Deadline(std::chrono::milliseconds limit) : Deadline(limit, now_ns()) {}
  // Of what began at `begin_ns`, a time of now_ns().
  Deadline(std::chrono::milliseconds limit, std::int64_t begin_ns)
      : limit_(limit < kLongest ? limit : kLongest),
        end_(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(begin_ns)) + limit_) {}

  bool expired() const { return expired_for(std::chrono::nanoseconds(0)); }
  bool expired_for(std::chrono::nanoseconds time) const {
    return std::chrono::steady_clock::now() >= end_ + time;
  }
  std::int64_t limit_ms() const { return limit_.count(); }
  // Rounded up: 0 only once expired.
  std::int64_t left_ms() const {
    const auto left = end_ - std::chrono::steady_clock::now();
    return left.count() <= 0 ? 0 : std::chrono::ceil<std::chrono::milliseconds>(left).count();
  }

 private:
  static constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 3652);
  std::chrono::milliseconds limit_;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace cmm
