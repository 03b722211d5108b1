// How a rank waits for its peers: it spins, soon yields, and where nothing comes it dozes.
#pragma once

#include <cstdint>

#include "base/backoff.hpp"
#include "base/deadline.hpp"

namespace cmm::transport {

// Sleeps until a peer has done something, some milliseconds at most. The first doze of a wait only
// announces the sleep: a peer that acts after the announcement wakes the sleeper, and what happened
// before it is seen by the look that the waiting loop takes before it dozes again. A doze also
// looks at what costs time to look at (have peers died, do they make the same call as we) and
// throws the group's cause.
class Dozer {
 public:
  virtual ~Dozer() = default;
  virtual void doze() = 0;
  virtual void rise() = 0;  // the wait is over; no peer need wake us
};

// One wait. Between two looks at what is waited for the loop calls pause().
class Wait {
 public:
  explicit Wait(Dozer& dozer) : dozer_(dozer) {}
  ~Wait() {
    if (dozed_) dozer_.rise();
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  void pause() {
    if (!dozed_ && backoff_.awake() && !awake_for_long()) {
      backoff_.pause();
    } else {
      dozed_ = true;
      dozer_.doze();
    }
  }
  bool time_to_check() const { return backoff_.time_to_check(); }
  bool expired(const Deadline& deadline) const { return time_to_check() && deadline.expired(); }

 private:
  // On a busy machine a yield may last as long as others run, and a thousand of them seconds, while
  // nobody looks whether the peers live.
  static constexpr std::int64_t kAwakeNs = 5'000'000;
  bool awake_for_long() {
    if (!backoff_.time_to_check()) return false;
    const std::int64_t now = now_ns();
    if (begin_ns_ == 0) begin_ns_ = now;
    return now - begin_ns_ > kAwakeNs;
  }

  Dozer& dozer_;
  Backoff backoff_;
  std::int64_t begin_ns_ = 0;  // of the first look at the clock
  bool dozed_ = false;
};

}  // namespace cmm::transport
