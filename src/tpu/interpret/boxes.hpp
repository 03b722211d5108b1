// Boxes of elements in a buffer, and the contiguous runs they consist of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tpu/program.hpp"

namespace cmm::tpu {

struct Box {
  int rank = 0;
  std::array<std::int64_t, kMaxRank> begin{};
  std::array<std::int64_t, kMaxRank> size{};

  std::int64_t num_elements() const;
  bool overlaps(const Box& other) const;
  bool covers(const Box& other) const;
};

// A box of a row-major buffer, its elements numbered in the box's own row-major order.
class BoxRuns {
 public:
  BoxRuns() = default;
  BoxRuns(std::span<const std::int64_t> shape, const Box& box);

  std::int64_t num_elements() const { return num_runs_ * run_; }

  // Calls body(number of an element in the box, its number in the buffer, how many follow each
  // other in both) for elements `begin` to `end` of the box.
  template <class Body>
  void each_run(std::int64_t begin, std::int64_t end, const Body& body) const {
    for (std::int64_t i = begin; i < end;) {
      const std::int64_t within = i % run_;
      const std::int64_t count = std::min(run_ - within, end - i);
      body(i, start_of(i / run_) + within, count);
      i += count;
    }
  }

 private:
  std::int64_t start_of(std::int64_t run) const;

  std::int64_t run_ = 1;  // elements of a run
  std::int64_t num_runs_ = 0;
  std::int64_t origin_ = 0;
  int num_outer_ = 0;  // dimensions outside of a run
  std::array<std::int64_t, kMaxRank> outer_size_{};
  std::array<std::int64_t, kMaxRank> outer_stride_{};
};

}  // namespace cmm::tpu
