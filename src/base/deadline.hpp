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
        looked_ns_(begin_ns),
        end_(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(begin_ns)) + limit_) {}

  bool expired() const { return std::chrono::steady_clock::now() >= end_; }

  // For one thread, which looks every few milliseconds as long as it waits or works: more than a
  // second between two looks is time in which its process was stopped, with its whole job perhaps
  // (Ctrl-Z, a debugger). It does not count: nobody could have come.
  void look(std::int64_t now) const {
    if (now - looked_ns_ > kStoppedNs) end_ += std::chrono::nanoseconds(now - looked_ns_);
    looked_ns_ = now;
  }
  bool expired_while_awake() const {
    look(now_ns());
    return std::chrono::nanoseconds(looked_ns_) >= end_.time_since_epoch();
  }

  std::int64_t limit_ms() const { return limit_.count(); }
  // Rounded up: 0 only once expired.
  std::int64_t left_ms() const {
    const auto left = end_ - std::chrono::steady_clock::now();
    return left.count() <= 0 ? 0 : std::chrono::ceil<std::chrono::milliseconds>(left).count();
  }

 private:
  static constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 3652);
  static constexpr std::int64_t kStoppedNs = 1'000'000'000;
  std::chrono::milliseconds limit_;
  // Looks do not change what was asked for, so those who wait get the deadline const.
  mutable std::int64_t looked_ns_;
  mutable std::chrono::steady_clock::time_point end_;
};

}  // namespace cmm
