// What a rank holds doubles each step, so ceil(log2 P) steps do: for messages so small that only
// their number counts. This is the form for any P (dissemination, Bruck's all-gather): at step s,
// with D = 2^(s-1), rank r takes from rank r + D the D shards that rank has, its own one first;
// the last step takes the P - D that are still missing. For P a power of two this is as many
// bytes and steps as the exchange with rank r xor D; partners differ.
//
//   P = 4    step 0   1   2            P = 6    step 0   1   2     3
//   rank 0        0   1   2 3          rank 0        0   1   2 3   4 5
//   rank 1        1   2   3 0          rank 1        1   2   3 4   5 0
//   rank 2        2   3   0 1          rank 2        2   3   4 5   0 1
//   rank 3        3   0   1 2          ...
//       taken from r + 1   r + 2                   r + 1  r + 2  r + 4
//
// So shards arrive in the order r + 1, r + 2, ...; shard r + e comes at the step of the highest
// bit of e, from rank r + (that bit).
#pragma once

#include <algorithm>
#include <bit>

#include "schedule/hop.hpp"

namespace cmm::schedule {

constexpr Hop recursive_doubling_hop(int Q, int i) {
  const int distance = i / Q + 1;
  const int high = static_cast<int>(std::bit_floor(static_cast<unsigned>(distance)));
  return {.owner = distance,
          .from = high,
          .piece = i % Q,
          .step = static_cast<int>(std::bit_width(static_cast<unsigned>(distance))),
          .read = distance == high ? kNone : i - high * Q};
}

// Shards r + 1 .. r + (this) are forwarded, the later ones are not. D is the last step's: that
// step forwards the shards up to P - 1 - D, the step before it those up to D / 2 - 1.
constexpr int recursive_doubling_forwarded_shards(int P) {
  const int D = static_cast<int>(std::bit_floor(static_cast<unsigned>(P - 1)));
  return std::max(P - 1 - D, D / 2 - 1);
}

// Forwarded shards stay, since most of them leave only in the last step; one slot is left for the
// others to take turns in.
constexpr int recursive_doubling_min_slots(int P, int Q) {
  return P == 1 ? 0 : recursive_doubling_forwarded_shards(P) * Q + 1;
}

}  // namespace cmm::schedule
