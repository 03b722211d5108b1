// Work handed out to the threads of a rank from one counter: large claims first, small ones near
// the end, so that no thread waits long for the last. Which thread computes a block never changes
// its bits.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/integers.hpp"

namespace cmm::exec {

class Claims {
 public:
  struct Shape {
    std::int64_t num_units = 0;  // claimed in ascending order
    std::int64_t max_claim = 1;  // units of one claim
    std::int64_t boundary = 1;   // no claim crosses a multiple of it; >= max_claim
    int num_threads = 1;
  };

  // Only while no thread claims.
  void reset(const Shape& shape) {
    shape_ = shape;
    next_.store(0, std::memory_order_relaxed);
  }

  // An empty range: nothing is left.
  Range claim() {
    std::int64_t begin = next_.load(std::memory_order_relaxed);
    for (;;) {
      if (begin >= shape_.num_units) return {};
      const std::int64_t end = begin + size_at(begin);
      if (next_.compare_exchange_weak(begin, end, std::memory_order_relaxed)) return {begin, end};
    }
  }

 private:
  // With one thread there is nobody to wait for. Otherwise a claim is at most a fourth of its
  // thread's even share of what is left.
  std::int64_t size_at(std::int64_t begin) const {
    const std::int64_t left = shape_.num_units - begin;
    std::int64_t size = shape_.max_claim;
    if (shape_.num_threads > 1) {
      const std::int64_t guided = left / (4 * shape_.num_threads);
      size = guided < 1 ? 1 : guided < size ? guided : size;
    }
    const std::int64_t to_boundary = shape_.boundary - begin % shape_.boundary;
    size = size < to_boundary ? size : to_boundary;
    return size < left ? size : left;
  }

  Shape shape_;
  alignas(64) std::atomic<std::int64_t> next_{0};
};

}  // namespace cmm::exec
