// Which part of an operand lies in which slot, where it is known beforehand which one each step
// needs: what has to make room is what is needed last.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "schedule/schedule.hpp"

namespace cmm::sim {

class OperandSlots {
 public:
  // needed[i] is the part that step i reads. With two slots or more, each step's part finds room at
  // the latest in that step.
  OperandSlots(int num_slots, std::vector<int> needed, int num_parts)
      : needed_(std::move(needed)),
        uses_(num_parts),
        slot_of_(num_parts, schedule::kNone),
        part_in_(num_slots, schedule::kNone) {
    for (std::size_t i = 0; i < needed_.size(); ++i)
      uses_[needed_[i]].push_back(static_cast<int>(i));
  }

  struct Load {
    int for_step = 0;
    int part = 0;
    int slot = 0;
  };
  // The next part that is needed up to `last_step` and not there, and a slot that no step from
  // `now` on reads before that one. The caller loads it, and says so.
  std::optional<Load> next(int now, int last_step) {
    last_step = std::min(last_step, static_cast<int>(needed_.size()) - 1);
    next_step_ = std::max(next_step_, now);
    while (next_step_ <= last_step && slot_of_[needed_[next_step_]] != schedule::kNone)
      ++next_step_;
    if (next_step_ > last_step) return std::nullopt;
    int slot = 0;
    int latest = schedule::kNone;
    for (int i = 0; i < static_cast<int>(part_in_.size()); ++i) {
      const int use = next_use(part_in_[i], now);
      if (use > latest) {
        latest = use;
        slot = i;
      }
    }
    if (latest <= next_step_) return std::nullopt;
    return Load{next_step_, needed_[next_step_], slot};
  }
  void is_loaded(const Load& load) {
    const int before = std::exchange(part_in_[load.slot], load.part);
    if (before != schedule::kNone) slot_of_[before] = schedule::kNone;
    slot_of_[load.part] = load.slot;
  }

  int part_of_step(int step) const { return needed_[step]; }
  int slot_of_step(int step) const { return slot_of_[needed_[step]]; }  // kNone: not loaded

 private:
  int next_use(int part, int now) const {
    constexpr int kNever = std::numeric_limits<int>::max();
    if (part == schedule::kNone) return kNever;
    const auto use = std::ranges::lower_bound(uses_[part], now);
    return use == uses_[part].end() ? kNever : *use;
  }

  std::vector<int> needed_;
  std::vector<std::vector<int>> uses_;  // steps that read each part
  std::vector<int> slot_of_;            // of each part
  std::vector<int> part_in_;            // of each slot
  int next_step_ = 0;                   // all before it have been there or are
};

}  // namespace cmm::sim
