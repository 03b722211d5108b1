// Proves a schedule, or says what is wrong with it: every property a walker relies on, checked over
// all ranks and chunks. Also for schedules made by hand.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace cmm::schedule {

struct Verdict {
  std::vector<std::string> violations;  // for people; the first of each kind, at most a few dozen
  bool ok() const { return violations.empty(); }
};

// Checks that
//  - sends and receives are the same transfers, in the order of their steps;
//  - every chunk reaches every rank exactly once, from a rank that had it at an earlier step;
//  - a transfer reads the slot the chunk landed in, and waits for what lay in the slot it writes;
//  - multiply_order holds every chunk once, own ones first, the others by step of arrival;
//  - the schedule completes, pulled and pushed, and no slot is overwritten before its last read,
//    though each chunk is multiplied as late as possible;
//  - the algorithm keeps its promise: rings talk to neighbours, direct to owners only, recursive
//    doubling takes ceil(log2 P) steps, hierarchical brings each chunk into a host once and shares
//    that work evenly.
// Time and memory grow with P * P * chunks_per_shard. Throws as check_shape.
Verdict verify(const Shape& shape);
Verdict verify(const Shape& shape, std::span<const RankSchedule> schedules);

}  // namespace cmm::schedule
