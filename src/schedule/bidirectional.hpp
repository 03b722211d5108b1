// Two rings on half shards: of the 2 Q chunks of a shard the first Q travel forward, to rank + 1,
// the last Q backward, to rank - 1, both at the same step. Each link carries half of what it
// carries in a one-way ring, in both directions at once.
//
//   P = 4    step 0   1   2   3          step 0   1   2   3
//   rank 0        0   3   2   1               0   1   2   3
//   rank 1        1   0   3   2               1   2   3   0
//   rank 2        2   1   0   3               2   3   0   1
//   rank 3        3   2   1   0               3   0   1   2
//            first half: one row down    second half: one row up
//
// The two directions take turns in a rank's order, so that both links start at once. Slots as for
// a ring with 2 Q pieces.
#pragma once

#include "schedule/hop.hpp"
#include "schedule/ring.hpp"

namespace cmm::schedule {

constexpr Hop bidirectional_hop(int P, int Q, int i) {
  const int step = i / (2 * Q) + 1;
  const int pair = i % (2 * Q) / 2;
  const int read = step == 1 ? kNone : i - 2 * Q;
  const bool forward = i % 2 == 0;
  if (forward) return {.owner = P - step, .from = P - 1, .piece = pair, .step = step, .read = read};
  return {.owner = step, .from = 1, .piece = Q + pair, .step = step, .read = read};
}

constexpr int bidirectional_min_slots(int P, int Q) { return ring_min_slots(P, 2 * Q); }

}  // namespace cmm::schedule
