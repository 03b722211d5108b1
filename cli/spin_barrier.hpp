// Starts the ranks of a measurement at the same moment.
#pragma once

#include <atomic>
#include <stdexcept>
#include <thread>

namespace cmm::cli {

// Spins, then yields: std::barrier sleeps, and waking up takes longer than a small product.
// A rank that fails calls leave(), and its peers get Abandoned from their wait.
class SpinBarrier {
 public:
  struct Abandoned : std::runtime_error {
    Abandoned() : std::runtime_error("another rank left the measurement") {}
  };

  explicit SpinBarrier(int num_ranks) : num_ranks_(num_ranks) {}

  void wait() {
    const unsigned round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == num_ranks_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
    }
    for (int spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
      if (left_.load(std::memory_order_relaxed)) throw Abandoned();
      if (spins > kSpins) std::this_thread::yield();
    }
  }
  void leave() { left_.store(true, std::memory_order_relaxed); }

 private:
  static constexpr int kSpins = 300;  // about a microsecond; more ranks than cores must go on soon

  const int num_ranks_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<unsigned> round_{0};
  std::atomic<bool> left_{false};
};

}  // namespace cmm::cli
