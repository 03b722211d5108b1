// A function on several threads at once.
#pragma once

#include <sched.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace cmm::cli {

// Runs body() on num_threads threads, the caller's included, and returns when all have ended.
// Rethrows the first exception.
template <class Body>
void run_parallel(int num_threads, const Body& body) {
  std::mutex mutex;
  std::exception_ptr first;
  auto guarded = [&] {
    try {
      body();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (int t = 1; t < num_threads; ++t) threads.emplace_back(guarded);
  guarded();
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

// Cores this process may run on.
inline int num_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace cmm::cli
