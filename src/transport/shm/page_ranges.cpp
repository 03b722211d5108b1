#include "transport/shm/page_ranges.hpp"

#include <algorithm>
#include <iterator>

namespace cmm::transport::shm {

std::int64_t PageRanges::take(std::int64_t num_pages) {
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const auto [first, present] = *range;
    if (present < num_pages) continue;
    // The tail is taken: what stays keeps its node, so that nothing is allocated and taking
    // cannot fail half way.
    if (present == num_pages) {
      free_.erase(range);
    } else {
      range->second = present - num_pages;
    }
    return first + present - num_pages;
  }
  return -1;
}

void PageRanges::give_back(std::int64_t first, std::int64_t num_pages) {
  auto after = free_.lower_bound(first);
  const bool touches_after = after != free_.end() && after->first == first + num_pages;
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == first) {
      before->second += num_pages;
      if (touches_after) {
        before->second += after->second;
        free_.erase(after);
      }
      return;
    }
  }
  if (touches_after) {
    // The node is moved to its new first page: no allocation.
    auto node = free_.extract(after);
    node.key() = first;
    node.mapped() += num_pages;
    free_.insert(std::move(node));
    return;
  }
  free_.emplace_hint(after, first, num_pages);
}

std::int64_t PageRanges::largest() const {
  std::int64_t pages = 0;
  for (const auto& [first, present] : free_) pages = std::max(pages, present);
  return pages;
}

}  // namespace cmm::transport::shm
