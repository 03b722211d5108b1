// The timeline of some ranks of a walk.
#pragma once

#include "cmm/timeline.hpp"
#include "sim/rank_walk.hpp"

namespace cmm::sim {

// The rank that ends last and, where there are any, those before and after it: what they multiply,
// receive and send, and what they wait for. Ranks that were not walked do what the rank that
// stands for them does, turned. `times` were recorded. Title and figures are left empty.
Timeline rank_timeline(const RankTimes& times, const schedule::Shape& shape);

}  // namespace cmm::sim
