// Replays the waits of a set of schedules, without a clock: what may happen, happens, until all is
// done or nothing can. The waits only ever become true, so if one order of events stalls, all do.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace cmm::schedule {

enum class Walk {
  kPull,  // `to` does its receives one after another, each after the wait for the one before
  kPush,  // `from` does its sends one after another
};

struct Replay {
  bool completed = false;               // every transfer happened
  std::vector<std::string> stalled;     // per rank that is held up: which transfer, and why
  std::vector<std::string> violations;  // a slot overwritten too early, or read with wrong content
};

// Each rank goes on as far as it can before the next has its turn, and multiplies a chunk only
// when some transfer waits for that and nothing else can move: so the slots are as full, and the
// ranks as far apart, as the schedules allow. `schedules` holds one of each rank in rank order, its
// ranks, chunks and slots within range.
Replay replay(const Shape& shape, std::span<const RankSchedule> schedules, Walk walk);

}  // namespace cmm::schedule
