// Shards travel forward, to rank + 1. At step s rank r receives shard (r - s) mod P, which makes
// its s-th hop, and forwards it at step s + 1.
//
//   P = 4    step 0   1   2   3
//   rank 0        0   3   2   1      one hop moves a shard one row down
//   rank 1        1   0   3   2      and one column to the right
//   rank 2        2   1   0   3
//   rank 3        3   2   1   0
//
// With Q pieces a step is Q transfers, and a piece is forwarded as soon as it has arrived.
// Slots: transfer i overwrites that of i - S, which leaves with its receiver's transfer i - S + Q;
// all ranks doing transfer i at a time, that lies in the past only if S > Q. For P = 2 nothing is
// forwarded.
#pragma once

#include "schedule/hop.hpp"

namespace cmm::schedule {

constexpr Hop ring_hop(int P, int Q, int i) {
  const int step = i / Q + 1;
  return {.owner = P - step,
          .from = P - 1,
          .piece = i % Q,
          .step = step,
          .read = step == 1 ? kNone : i - Q};
}

constexpr int ring_min_slots(int P, int Q) { return P <= 2 ? P - 1 : Q + 1; }

}  // namespace cmm::schedule
