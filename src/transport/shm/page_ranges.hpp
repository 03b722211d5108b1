// Which pages of a rank's region are free: first fit over a list of free ranges that are merged
// when they meet. Integers only; the arena maps, reserves and gives back the memory itself.
#pragma once

#include <cstdint>
#include <map>

namespace cmm::transport::shm {

class PageRanges {
 public:
  explicit PageRanges(std::int64_t num_pages) {
    if (num_pages > 0) free_.emplace(0, num_pages);
  }

  // First page of `num_pages` > 0 that were free and are now taken; -1 where no range is so large.
  std::int64_t take(std::int64_t num_pages);
  // Pages that were taken; the parts of a range that was taken may come back in any order.
  void give_back(std::int64_t first, std::int64_t num_pages);

  std::int64_t largest() const;  // pages of the largest free range
  std::int64_t num_ranges() const { return static_cast<std::int64_t>(free_.size()); }

 private:
  std::map<std::int64_t, std::int64_t> free_;  // first page -> number of pages; none touch
};

}  // namespace cmm::transport::shm
