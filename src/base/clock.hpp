// Clocks for measuring.
#pragma once

#include <ctime>

namespace cmm {

inline double clock_seconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Time since an arbitrary start, for differences.
inline double wall_seconds() { return clock_seconds(CLOCK_MONOTONIC); }

// Processor time of the calling thread: what preemption took away is not in it.
inline double thread_cpu_seconds() { return clock_seconds(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace cmm
