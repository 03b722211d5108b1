// The schedule: who sends which chunk to whom over which hop into which slot, and in which order
// chunks fall due. A pure function of integers: the executor moves chunks by it, `cmm plan` draws
// it, the verifier replays it and traffic() counts it, so the mapping is written once, here.
//
// A shard (one rank's rows) is cut in `chunks_per_shard` chunks. A chunk reaches a rank by one
// transfer, is multiplied there once, and may be forwarded from there. Each rank keeps received
// chunks in slots; a slot holds one chunk at a time.
//
// What a walker must keep to, so that no slot is overwritten too early and nothing stalls:
//  - a transfer starts when `from` holds the chunk and, where `after` names a chunk, `to` has
//    multiplied that chunk and all of `to`'s sends of it are complete;
//  - multiplying a chunk waits for its arrival and for nothing else (any order of arrived chunks);
//  - transfers are either pulled by `to` in the order of its receives, or pushed by `from` in the
//    order of its sends. Several may be in flight; waiting for one may hold up those behind it.
#pragma once

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
  int num_hosts = 1;   // 1..P; hosts hold consecutive ranks, even parts of P. Only the schedule of
                       // hierarchical depends on it
  int num_slots = 0;   // of each rank; 0: default_slots(). More than received_chunks() are not
                       // used. Fewer than min_slots() deadlock: who runs a schedule checks it
  friend bool operator==(const Shape&, const Shape&) = default;
};

// Throws Error(kInvalidArgument) naming the field, its value and its range. The functions below
// that take a Shape expect one that passes.
void check_shape(const Shape& shape);

int chunks_per_shard(const Shape& shape);  // Q; bidirectional 2 Q (Q for a single rank)
int num_chunks(const Shape& shape);        // P * chunks_per_shard
int received_chunks(const Shape& shape);   // of one rank: (P - 1) * chunks_per_shard

// Slots of each rank with which the schedule just completes, whether pulled or pushed.
int min_slots(const Shape& shape);
// What num_slots = 0 means: a shard more than min_slots, so that a rank may run ahead of its
// receiver by a shard. A walker that multiplies only once all rows are there sets num_slots to
// received_chunks(): then every chunk keeps a slot of its own and `after` is never set.
int default_slots(const Shape& shape);

// One chunk crossing one hop, from `from` to `to`.
struct Transfer {
  int chunk = kNone;       // owner * chunks_per_shard + piece
  int from = kNone;        // rank that holds the chunk before
  int to = kNone;          // rank that holds it after
  int step = 0;            // round of the schedule, from 1
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
  int num_slots = 0;               // slots this rank needs
  std::vector<Transfer> receives;  // to == rank, by step
  std::vector<Transfer> sends;     // from == rank, by step
  // Every chunk once, own ones first, then in the order of receives: the order of multiplying where
  // no transfer is late. The verifier checks it; the executor multiplies in order of arrival and
  // does not read it.
  std::vector<int> multiply_order;
};

// Memory is linear in the number of chunks, time too but for the sort of hierarchical's sends.
// Throws as check_shape, and Error(kInvalidArgument) where 0 <= rank < P does not hold.
RankSchedule make_rank_schedule(const Shape& shape, int rank);
// Its `receives` alone, in a third of the time.
std::vector<Transfer> make_receives(const Shape& shape, int rank);

}  // namespace cmm::schedule
