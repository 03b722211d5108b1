// The schedule: who sends which chunk to whom over which hop into which slot, and in which order
// a rank would like to multiply. A pure function of integers; the executor, the simulator, the
// TPU program builder and `cmm plan` all walk it, so the mapping is written once, here.
//
// A shard (one rank's rows) is cut in `chunks_per_shard` chunks. A chunk reaches a rank by one
// transfer, is multiplied there once, and may be forwarded from there. Each rank keeps received
// chunks in slots; a slot holds one chunk at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cmm::schedule {

inline constexpr int kNone = -1;

enum class Algorithm { kDirect, kRing, kBidirectional, kRecursiveDoubling, kHierarchical };

std::string_view algorithm_name(Algorithm algorithm);  // "direct", "ring", ...

struct Shape {
  Algorithm algorithm = Algorithm::kDirect;
  int num_ranks = 1;   // P >= 1
  int num_pieces = 1;  // Q >= 1 pieces per shard; bidirectional: per half shard
  int num_hosts = 1;   // hierarchical only: hosts hold consecutive ranks, even parts of P
};

// Throws Error(kInvalidArgument) naming the field, its value and its range.
void check_shape(const Shape& shape);

int chunks_per_shard(const Shape& shape);  // Q; bidirectional 2 Q (Q for a single rank)

// One chunk crossing one hop, from `from` to `to`.
struct Transfer {
  int chunk = kNone;       // owner * chunks_per_shard + piece
  int from = kNone;        // rank that holds the chunk before
  int to = kNone;          // rank that holds it after
  int step = 0;            // round of the schedule
  int read_slot = kNone;   // slot of `from` it is read from; kNone: the owner's own x
  int write_slot = kNone;  // slot of `to` it lands in
  int after = kNone;       // chunk that lay in write_slot before: it must have been multiplied and
                           // forwarded by `to` first. kNone: the slot is still unused
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

// What one rank does. Transfers into one rank happen in the order of `receives`, transfers out of
// it in the order of `sends`; a transfer stands in one rank's sends and another's receives.
struct RankSchedule {
  int rank = 0;
  int num_slots = 0;                // slots this rank needs
  std::vector<Transfer> receives;   // to == rank, by step
  std::vector<Transfer> sends;      // from == rank, by step
  std::vector<int> multiply_order;  // every chunk once: own first, then as they are due
};

// Linear in the number of chunks. Throws as check_shape.
RankSchedule make_rank_schedule(const Shape& shape, int rank);

}  // namespace cmm::schedule
