// How a rank waits for its peers: it spins, soon yields, and where nothing comes it dozes.
#pragma once

#include "base/backoff.hpp"

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
    if (backoff_.awake()) {
      backoff_.pause();
    } else {
      dozed_ = true;
      dozer_.doze();
    }
  }
  bool time_to_check() const { return backoff_.time_to_check(); }

 private:
  Dozer& dozer_;
  Backoff backoff_;
  bool dozed_ = false;
};

}  // namespace cmm::transport
