#include "schedule/schedule.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "schedule/bidirectional.hpp"
#include "schedule/direct.hpp"
#include "schedule/hierarchical.hpp"
#include "schedule/hop.hpp"
#include "schedule/recursive_doubling.hpp"
#include "schedule/ring.hpp"

namespace cmm::schedule {
namespace {

// Keeps every sum of two chunk numbers within an int.
constexpr int kMaxChunks = 1 << 30;

void check_range(const char* field, int value, int least, int most) {
  if (value < least || value > most)
    throw Error(ErrorCode::kInvalidArgument,
                cat(field, " is ", value, "; it must be ", least, " to ", most));
}

Hop hop_at(const Shape& shape, int i) {
  const int P = shape.num_ranks, Q = shape.num_pieces;
  switch (shape.algorithm) {
    case Algorithm::kDirect:
      return direct_hop(Q, i);
    case Algorithm::kRing:
      return ring_hop(P, Q, i);
    case Algorithm::kBidirectional:
      return bidirectional_hop(P, Q, i);
    default:
      return recursive_doubling_hop(Q, i);
  }
}

int slots_or_default(const Shape& shape) {
  return shape.num_slots == 0 ? default_slots(shape)
                              : std::min(shape.num_slots, received_chunks(shape));
}

// Slots of the algorithms of hop.hpp: the first `kept` receives each keep one, the others take
// turns. Only recursive doubling keeps any; with too few slots, as many as leave one for turns.
class Slots {
 public:
  Slots(const Shape& shape, int num_slots)
      : num_slots_(num_slots),
        kept_(std::min(forwarded_chunks(shape), num_slots - 1)),
        turns_(num_slots - kept_) {}

  int slot(int i) const { return i < num_slots_ ? i : kept_ + (i - kept_) % turns_; }
  int previous(int i) const { return i < num_slots_ ? kNone : i - turns_; }  // its last user

 private:
  static int forwarded_chunks(const Shape& shape) {
    if (shape.algorithm != Algorithm::kRecursiveDoubling) return 0;
    return recursive_doubling_forwarded_shards(shape.num_ranks) * shape.num_pieces;
  }

  const int num_slots_;
  const int kept_;
  const int turns_;  // slots that take turns
};

// The transfer that is rank `to`'s i-th receive.
Transfer transfer_at(const Shape& shape, const Slots& slots, int to, int i) {
  const int P = shape.num_ranks;
  const auto chunk = [&](const Hop& hop) {
    return (to + hop.owner) % P * chunks_per_shard(shape) + hop.piece;
  };
  const Hop hop = hop_at(shape, i);
  const int previous = slots.previous(i);
  return {.chunk = chunk(hop),
          .from = (to + hop.from) % P,
          .to = to,
          .step = hop.step,
          .read_slot = hop.read == kNone ? kNone : slots.slot(hop.read),
          .write_slot = slots.slot(i),
          .after = previous == kNone ? kNone : chunk(hop_at(shape, previous))};
}

std::vector<Transfer> turned_receives(const Shape& shape, int rank, int num_slots) {
  std::vector<Transfer> list;
  const int N = received_chunks(shape);
  const Slots slots(shape, num_slots);
  list.reserve(N);
  for (int i = 0; i < N; ++i) list.push_back(transfer_at(shape, slots, rank, i));
  return list;
}

std::vector<Transfer> turned_sends(const Shape& shape, int rank, int num_slots) {
  std::vector<Transfer> list;
  const int P = shape.num_ranks, N = received_chunks(shape);
  const Slots slots(shape, num_slots);
  list.reserve(N);
  for (int i = 0; i < N; ++i) {
    const int receiver = (rank - hop_at(shape, i).from + P) % P;
    list.push_back(transfer_at(shape, slots, receiver, i));
  }
  return list;
}

bool is_hierarchical(const Shape& shape) { return shape.algorithm == Algorithm::kHierarchical; }

void check_rank(const Shape& shape, int rank) {
  check_shape(shape);
  check_range("rank", rank, 0, shape.num_ranks - 1);
}

}  // namespace

std::string_view algorithm_name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kDirect:
      return "direct";
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kBidirectional:
      return "bidirectional";
    case Algorithm::kRecursiveDoubling:
      return "recursive_doubling";
    default:
      return "hierarchical";
  }
}

void check_shape(const Shape& shape) {
  check_range("num_ranks", shape.num_ranks, 1, kMaxChunks / 2);
  const int directions = shape.algorithm == Algorithm::kBidirectional ? 2 : 1;
  check_range("num_pieces", shape.num_pieces, 1, kMaxChunks / directions / shape.num_ranks);
  check_range("num_hosts", shape.num_hosts, 1, shape.num_ranks);
  const int least = shape.algorithm == Algorithm::kHierarchical && shape.num_slots != 0
                        ? hierarchical_num_pools(shape)
                        : 0;
  check_range("num_slots", shape.num_slots, least, kMaxChunks);
}

int chunks_per_shard(const Shape& shape) {
  const bool halves = shape.algorithm == Algorithm::kBidirectional && shape.num_ranks > 1;
  return halves ? 2 * shape.num_pieces : shape.num_pieces;
}
int num_chunks(const Shape& shape) { return shape.num_ranks * chunks_per_shard(shape); }
int received_chunks(const Shape& shape) { return num_chunks(shape) - chunks_per_shard(shape); }

int min_slots(const Shape& shape) {
  const int P = shape.num_ranks, Q = shape.num_pieces;
  switch (shape.algorithm) {
    case Algorithm::kDirect:
      return direct_min_slots(P);
    case Algorithm::kRing:
      return ring_min_slots(P, Q);
    case Algorithm::kBidirectional:
      return bidirectional_min_slots(P, Q);
    case Algorithm::kRecursiveDoubling:
      return recursive_doubling_min_slots(P, Q);
    default:
      return hierarchical_min_slots(shape);
  }
}

int default_slots(const Shape& shape) {
  return std::min(received_chunks(shape), min_slots(shape) + chunks_per_shard(shape));
}

std::vector<Transfer> make_receives(const Shape& shape, int rank) {
  check_rank(shape, rank);
  const int num_slots = slots_or_default(shape);
  return is_hierarchical(shape) ? hierarchical_receives(shape, rank, num_slots)
                                : turned_receives(shape, rank, num_slots);
}

RankSchedule make_rank_schedule(const Shape& shape, int rank) {
  RankSchedule schedule{rank, slots_or_default(shape), make_receives(shape, rank), {}, {}};
  schedule.sends = is_hierarchical(shape) ? hierarchical_sends(shape, rank, schedule.num_slots)
                                          : turned_sends(shape, rank, schedule.num_slots);
  const int C = chunks_per_shard(shape);
  schedule.multiply_order.reserve(num_chunks(shape));
  for (int piece = 0; piece < C; ++piece) schedule.multiply_order.push_back(rank * C + piece);
  for (const Transfer& t : schedule.receives) schedule.multiply_order.push_back(t.chunk);
  return schedule;
}

}  // namespace cmm::schedule
