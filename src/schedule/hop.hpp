// What the algorithms share in which all ranks do the same, only turned by their own number:
// direct, ring, bidirectional and recursive doubling. Their transfers are told from the receiver's
// side: the i-th chunk that reaches a rank, 0 <= i < (P - 1) * chunks_per_shard.
//
// Since all ranks are alike, rank r sends as its i-th transfer what rank r - from receives as its
// i-th. Both orders are that of i, so "all ranks do transfer 0, then all do transfer 1, ..." is a
// legal run. The waits only ever become true, so if this run completes, every run does.
#pragma once

#include "schedule/schedule.hpp"

namespace cmm::schedule {

struct Hop {
  int owner;  // the chunk's owner is rank (receiver + owner) mod P
  int from;   // its sender is rank (receiver + from) mod P
  int piece;  // 0 .. chunks_per_shard - 1
  int step;   // from 1
  int read;   // it reached the sender as the sender's receive `read`; kNone: the sender owns it
};

}  // namespace cmm::schedule
