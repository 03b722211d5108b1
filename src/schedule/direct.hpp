// Every rank takes each shard from its owner, starting after itself: at step s rank r takes shard
// (r + s) mod P, so at any step each owner is asked by one rank only.
//
//   P = 4    step 0   1   2   3
//   rank 0        0   1   2   3      shard taken from the rank of the same number
//   rank 1        1   2   3   0      (step 0: its own)
//   rank 2        2   3   0   1
//   rank 3        3   0   1   2
//
// Nothing is forwarded, so one slot is enough. A transport that reads peers' memory in place
// copies nothing and needs no slot at all.
#pragma once

#include "schedule/hop.hpp"

namespace cmm::schedule {

constexpr Hop direct_hop(int Q, int i) {
  const int step = i / Q + 1;
  return {.owner = step, .from = step, .piece = i % Q, .step = step, .read = kNone};
}

constexpr int direct_min_slots(int P) { return P == 1 ? 0 : 1; }

}  // namespace cmm::schedule
