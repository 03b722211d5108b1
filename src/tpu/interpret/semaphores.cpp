#include "tpu/interpret/semaphores.hpp"

#include <utility>

namespace cmm::tpu {

void Semaphore::promise(Contribution contribution) {
  promised_ += contribution.amount;
  entries_.push_back({std::move(contribution)});
}

void Semaphore::signal(Contribution contribution) {
  if (contribution.amount == 0) return;  // no wait can need it, so none proves it
  has_ += contribution.amount;
  promise(std::move(contribution));
}

std::int64_t Semaphore::others_than(const Entry& entry) const {
  std::int64_t sum = 0;
  for (const Entry& other : entries_) {
    if (&other == &entry) continue;
    if (!entry.contribution.made.known_to(*other.contribution.clock)) {
      sum += other.contribution.amount;
    }
  }
  return sum;
}

void Semaphore::take(std::int64_t amount, Clock& clock, Moment now,
                     std::vector<CopyMoments>& copies) {
  has_ -= amount;
  taken_ += amount;
  if (taken_ == promised_) {
    for (const Entry& entry : entries_) {
      const Contribution& contribution = entry.contribution;
      merge(clock, *contribution.clock);
      if (contribution.copy < 0) continue;
      CopyMoments& copy = copies[static_cast<std::size_t>(contribution.copy)];
      (contribution.departure ? copy.departed : copy.arrived) = now;
    }
    entries_.clear();
    promised_ = taken_ = 0;
    return;
  }
  // All known ones are found before any leaves: leaving changes no verdict on the others, since one
  // that implies an unknown one cannot be known.
  bool signals_known = false;
  for (Entry& entry : entries_) {
    if (entry.merged || taken_ <= others_than(entry)) continue;
    merge(clock, *entry.contribution.clock);
    entry.merged = true;
    signals_known = signals_known || entry.contribution.copy < 0;
  }
  if (!signals_known) return;
  std::erase_if(entries_, [&](const Entry& entry) {
    const bool leaves = entry.merged && entry.contribution.copy < 0;
    if (leaves) promised_ -= entry.contribution.amount, taken_ -= entry.contribution.amount;
    return leaves;
  });
}

}  // namespace cmm::tpu
