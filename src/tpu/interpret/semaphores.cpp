#include "tpu/interpret/semaphores.hpp"

#include <algorithm>
#include <utility>

namespace cmm::tpu {
namespace {

bool knows_all_of(const Clock& clock, const Clock& other) {
  return std::equal(clock.begin(), clock.end(), other.begin(), std::greater_equal<>());
}

}  // namespace

void Semaphore::promise(Contribution contribution) {
  promised_ += contribution.amount;
  contributions_.push_back(std::move(contribution));
}

void Semaphore::signal(Contribution contribution) {
  if (contribution.amount == 0) return;  // no wait can need it, so none proves it
  has_ += contribution.amount;
  promise(std::move(contribution));
}

// The latest time of the device for which those that know less do not add up to what was taken.
Time Semaphore::proven_time(std::size_t device) const {
  std::vector<std::pair<Time, std::int64_t>> known;
  for (const Contribution& each : contributions_) {
    known.emplace_back((*each.clock)[device], each.amount);
  }
  std::sort(known.begin(), known.end());
  Time proven = 0;
  std::int64_t sum = 0;
  for (const auto& [time, amount] : known) {
    if (sum >= taken_) break;
    proven = time;
    sum += amount;
  }
  return proven;
}

void Semaphore::learn(Clock& clock, std::size_t device, Time time) {
  if (time <= clock[device]) return;
  clock[device] = time;
  learned_.resize(clock.size());
  learned_[device] = std::max(learned_[device], time);
}

bool Semaphore::could_weaken_waits(const Contribution& contribution) const {
  const Clock& clock = *contribution.clock;
  if (last_wait_.time == kNever || last_wait_.known_to(clock)) return false;
  if (last_completion_.time != kNever && !last_completion_.known_to(clock)) return true;
  return !learned_.empty() && !knows_all_of(clock, learned_);
}

void Semaphore::take(std::int64_t amount, Clock& clock, Moment now,
                     std::vector<CopyMoments>& copies) {
  has_ -= amount;
  taken_ += amount;
  if (++num_waits_ <= num_distrusted_) return;
  last_trusted_ = num_waits_;
  last_wait_ = now;
  if (taken_ == promised_) {
    for (const Contribution& each : contributions_) {
      for (std::size_t device = 0; device < clock.size(); ++device) {
        learn(clock, device, (*each.clock)[device]);
      }
      if (each.copy < 0) continue;
      last_completion_ = now;
      CopyMoments& copy = copies[static_cast<std::size_t>(each.copy)];
      (each.departure ? copy.departed : copy.arrived) = now;
    }
    contributions_.clear();
    promised_ = taken_ = 0;
    return;
  }
  for (std::size_t device = 0; device < clock.size(); ++device) {
    learn(clock, device, proven_time(device));
  }
  // What knows nothing new counts among those that are not enough for anything new, and in what was
  // taken: without it neither changes.
  std::erase_if(contributions_, [&](const Contribution& each) {
    const bool leaves = each.copy < 0 && knows_all_of(clock, *each.clock);
    if (leaves) promised_ -= each.amount, taken_ -= each.amount;
    return leaves;
  });
}

}  // namespace cmm::tpu
