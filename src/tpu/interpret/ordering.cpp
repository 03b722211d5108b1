#include "tpu/interpret/ordering.hpp"

#include <algorithm>

namespace cmm::tpu {
namespace {

bool over(const Access& access, const Clock& clock, const std::vector<CopyMoments>& copies) {
  if (access.copy < 0) return access.moment.known_to(clock);
  const CopyMoments& copy = copies[static_cast<std::size_t>(access.copy)];
  return copy.arrived.known_to(clock) || (!access.writes && copy.departed.known_to(clock));
}

}  // namespace

void merge(Clock& clock, const Clock& other) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

const Access* AccessList::add(const Access& access, const Clock& clock,
                              const std::vector<CopyMoments>& copies) {
  // What is over and lies within the new access is replaced by it: whatever will be ordered after
  // the new one is ordered after the old one, and whatever conflicts with the old one conflicts
  // with the new one - unless the old one alone writes.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < accesses_.size(); ++i) {
    const Access& old = accesses_[i];
    bool keep = true;
    if (access.box.overlaps(old.box)) {
      const bool before = over(old, clock, copies);
      if (!before && (old.writes || access.writes)) return &old;
      keep = !before || (old.writes && !access.writes) || !access.box.covers(old.box);
    }
    if (keep) {
      if (kept != i) accesses_[kept] = old;
      ++kept;
    }
  }
  accesses_.resize(kept);
  accesses_.push_back(access);
  return nullptr;
}

void AccessList::prune(std::span<const Clock* const> clocks,
                       const std::vector<CopyMoments>& copies) {
  std::erase_if(accesses_, [&](const Access& access) {
    return std::all_of(clocks.begin(), clocks.end(),
                       [&](const Clock* clock) { return over(access, *clock, copies); });
  });
  prune_at_ = std::max<std::size_t>(16, 2 * accesses_.size());
}

}  // namespace cmm::tpu
