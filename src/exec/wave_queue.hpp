// Cuts the chunks that have arrived into waves of bounded size, so that a plan's memory does not
// grow with m. A chunk larger than a wave is taken in parts, one a wave.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/integers.hpp"

namespace cmm::exec {

// Rows of one chunk, taken by one wave.
struct Part {
  int chunk = 0;
  Range rows;                 // of the gathered x
  std::int64_t wave_row = 0;  // rows of the wave before it
  bool last = true;           // of its chunk
};

class WaveQueue {
 public:
  WaveQueue(int num_chunks, std::int64_t max_rows) : max_rows_(max_rows) {
    waiting_.reserve(static_cast<std::size_t>(num_chunks));
  }

  void clear() {
    waiting_.clear();
    num_rows_ = 0;
  }
  void add(int chunk, Range rows) {
    waiting_.push_back({.chunk = chunk, .rows = rows});
    num_rows_ += rows.size();
  }
  bool empty() const { return waiting_.empty(); }
  std::int64_t num_rows() const { return num_rows_; }

  // Fills `parts` with the next wave, at most max_rows rows, in the order of rows so that
  // neighbours stay neighbours. What waits is spread evenly over the waves it needs: a small rest
  // would read the weights as slowly as a full wave.
  void take(std::vector<Part>& parts) {
    parts.clear();
    const std::int64_t num_waves = std::max<std::int64_t>(1, ceil_div(num_rows_, max_rows_));
    std::int64_t rows_left = ceil_div(num_rows_, num_waves);
    std::size_t num_whole = 0;
    while (num_whole < waiting_.size() && waiting_[num_whole].rows.size() <= rows_left) {
      rows_left -= waiting_[num_whole].rows.size();
      parts.push_back(waiting_[num_whole++]);
    }
    if (num_whole < waiting_.size() && rows_left > 0) {
      Part& rest = waiting_[num_whole];
      parts.push_back(rest);
      parts.back().last = false;
      parts.back().rows.end = rest.rows.begin += rows_left;
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(num_whole));
    std::sort(parts.begin(), parts.end(),
              [](const Part& a, const Part& b) { return a.rows.begin < b.rows.begin; });
    std::int64_t wave_row = 0;
    for (Part& part : parts) {
      part.wave_row = wave_row;
      wave_row += part.rows.size();
    }
    num_rows_ -= wave_row;
  }

 private:
  const std::int64_t max_rows_;
  std::vector<Part> waiting_;
  std::int64_t num_rows_ = 0;
};

}  // namespace cmm::exec
