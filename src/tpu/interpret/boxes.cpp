#include "tpu/interpret/boxes.hpp"

#include <algorithm>

namespace cmm::tpu {

std::int64_t Box::num_elements() const {
  std::int64_t product = 1;
  for (int i = 0; i < rank; ++i) product *= size[i];
  return product;
}

bool Box::overlaps(const Box& other) const {
  for (int i = 0; i < rank; ++i) {
    const bool apart =
        begin[i] >= other.begin[i] + other.size[i] || other.begin[i] >= begin[i] + size[i];
    if (apart) return false;
  }
  return true;
}

bool Box::covers(const Box& other) const {
  for (int i = 0; i < rank; ++i) {
    const bool inside =
        begin[i] <= other.begin[i] && other.begin[i] + other.size[i] <= begin[i] + size[i];
    if (!inside) return false;
  }
  return true;
}

BoxRuns::BoxRuns(std::span<const std::int64_t> shape, const Box& box) : num_runs_(1) {
  // From the last dimension on: as long as all inner dimensions are whole, a run goes on.
  std::int64_t stride = 1;
  bool whole = true;
  for (int i = box.rank - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    origin_ += box.begin[at] * stride;
    if (whole) {
      run_ *= box.size[at];
    } else {
      outer_size_[static_cast<std::size_t>(num_outer_)] = box.size[at];
      outer_stride_[static_cast<std::size_t>(num_outer_)] = stride;
      ++num_outer_;
      num_runs_ *= box.size[at];
    }
    whole = whole && box.size[at] == shape[at];
    stride *= shape[at];
  }
}

std::int64_t BoxRuns::start_of(std::int64_t run) const {
  std::int64_t start = origin_;
  for (int i = 0; i < num_outer_; ++i) {
    const auto at = static_cast<std::size_t>(i);
    start += run % outer_size_[at] * outer_stride_[at];
    run /= outer_size_[at];
  }
  return start;
}

}  // namespace cmm::tpu
