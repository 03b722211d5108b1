// The end of a wait. It belongs to the call, not to the object that waits.
#pragma once

#include <algorithm>
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
        end_ns_(begin_ns + limit_ns()) {}

  // For one thread, which asks or looks every few milliseconds as long as it waits or works. More
  // than a second in between is time in which its process was stopped, with its whole job perhaps
  // (Ctrl-Z, a debugger), and nobody could have come: it counts as a second, but as no more than a
  // tenth of the limit. As nothing it may not count, or a process that is starved of its cores
  // would wait for ever.
  bool expired() const {
    look(now_ns());
    return looked_ns_ >= end_ns_;
  }
  void look(std::int64_t now) const {
    const std::int64_t gap = now - looked_ns_;
    if (gap > kStoppedNs) end_ns_ += gap - std::min(kStoppedNs, limit_ns() / 10);
    looked_ns_ = now;
  }

  std::int64_t limit_ms() const { return limit_.count(); }
  // Rounded up: 0 only once expired.
  std::int64_t left_ms() const {
    const std::chrono::nanoseconds left(end_ns_ - now_ns());
    return left.count() <= 0 ? 0 : std::chrono::ceil<std::chrono::milliseconds>(left).count();
  }

 private:
  static constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 3652);
  static constexpr std::int64_t kStoppedNs = 1'000'000'000;

  std::int64_t limit_ns() const { return std::chrono::nanoseconds(limit_).count(); }

  std::chrono::milliseconds limit_;
  // Looks do not change what was asked for, so those who wait get the deadline const.
  mutable std::int64_t looked_ns_;
  mutable std::int64_t end_ns_;
};

}  // namespace cmm
