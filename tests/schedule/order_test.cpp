// Who gets which chunk from whom at which step: each algorithm's own rule, said a second time in
// the words of its picture, for all ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "schedule/schedule.hpp"
#include "schedule/shapes.hpp"

namespace cmm::schedule {
namespace {

struct Arrival {
  int owner, piece, from, step;
  friend bool operator==(const Arrival&, const Arrival&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Arrival& a) {
    return out << a.owner << "." << a.piece << " from " << a.from << " at step " << a.step;
  }
};

std::vector<Arrival> arrivals(const Shape& shape, int rank) {
  const int C = chunks_per_shard(shape);
  std::vector<Arrival> list;
  for (const Transfer& t : make_rank_schedule(shape, rank).receives)
    list.push_back({t.chunk / C, t.chunk % C, t.from, t.step});
  return list;
}

// Calls body(shape, rank) for each rank of many shapes of one algorithm.
template <class Body>
void for_each_rank(Algorithm algorithm, Body body) {
  for (const Shape& shape : all_shapes())
    for (int rank = 0; shape.algorithm == algorithm && rank < shape.num_ranks; ++rank)
      body(shape, rank);
}

TEST(Order, DirectTakesFromTheOwnersAfterItself) {
  for_each_rank(Algorithm::kDirect, [](const Shape& shape, int rank) {
    std::vector<Arrival> expected;
    for (int step = 1; step < shape.num_ranks; ++step)
      for (int piece = 0; piece < shape.num_pieces; ++piece) {
        const int owner = (rank + step) % shape.num_ranks;
        expected.push_back({owner, piece, owner, step});
      }
    EXPECT_EQ(arrivals(shape, rank), expected) << shape << ", rank " << rank;
  });
}

TEST(Order, RingPassesShardsToTheNextRank) {
  for_each_rank(Algorithm::kRing, [](const Shape& shape, int rank) {
    const int P = shape.num_ranks;
    std::vector<Arrival> expected;
    for (int step = 1; step < P; ++step)
      for (int piece = 0; piece < shape.num_pieces; ++piece)
        expected.push_back({(rank + P - step) % P, piece, (rank + P - 1) % P, step});
    EXPECT_EQ(arrivals(shape, rank), expected) << shape << ", rank " << rank;
  });
}

TEST(Order, BidirectionalPassesHalvesBothWaysInTurn) {
  for_each_rank(Algorithm::kBidirectional, [](const Shape& shape, int rank) {
    const int P = shape.num_ranks, Q = shape.num_pieces;
    std::vector<Arrival> expected;
    for (int step = 1; step < P; ++step)
      for (int piece = 0; piece < Q; ++piece) {
        expected.push_back({(rank + P - step) % P, piece, (rank + P - 1) % P, step});
        expected.push_back({(rank + step) % P, Q + piece, (rank + 1) % P, step});
      }
    EXPECT_EQ(arrivals(shape, rank), expected) << shape << ", rank " << rank;
  });
}

TEST(Order, RecursiveDoublingTakesAllThatItsPartnerHas) {
  for_each_rank(Algorithm::kRecursiveDoubling, [](const Shape& shape, int rank) {
    const int P = shape.num_ranks;
    std::vector<Arrival> expected;
    int held = 1;  // shards rank, rank + 1, ... of each rank; as many of its partner's are new
    for (int step = 1; held < P; ++step, held = std::min(2 * held, P))
      for (int i = 0; i < std::min(held, P - held); ++i)
        for (int piece = 0; piece < shape.num_pieces; ++piece)
          expected.push_back({(rank + held + i) % P, piece, (rank + held) % P, step});
    EXPECT_EQ(arrivals(shape, rank), expected) << shape << ", rank " << rank;
  });
}

TEST(Order, HierarchicalFetchesPieceByPieceFromTheRankAfterTheHost) {
  for_each_rank(Algorithm::kHierarchical, [](const Shape& shape, int rank) {
    const HostRanks host = host_of(shape, rank);
    const int remote = shape.num_ranks - host.size();
    std::vector<Arrival> expected, fetched;
    for (int i = rank - host.begin; i < remote * shape.num_pieces; i += host.size()) {
      const int owner = (host.end + i % remote) % shape.num_ranks;
      expected.push_back({owner, i / remote, owner, i / host.size() + 1});
    }
    for (const Arrival& a : arrivals(shape, rank))
      if (!host.has(a.from)) fetched.push_back(a);
    EXPECT_EQ(fetched, expected) << shape << ", rank " << rank;
  });
}

TEST(Order, HierarchicalFetchesBeforeItTakesWhatTheSiblingsFetchedAStepAgo) {
  for (const Shape& shape : all_shapes()) {
    if (shape.algorithm != Algorithm::kHierarchical) continue;
    std::map<std::pair<int, int>, int> fetch_step;  // by (rank, chunk); own chunks: 0
    const std::vector<RankSchedule> schedules = make_all(shape);
    for (const RankSchedule& s : schedules) {
      for (int piece = 0; piece < shape.num_pieces; ++piece)
        fetch_step[{s.rank, s.rank * shape.num_pieces + piece}] = 0;
      for (const Transfer& t : s.receives)
        if (!host_of(shape, s.rank).has(t.from)) fetch_step[{s.rank, t.chunk}] = t.step;
    }
    for (const RankSchedule& s : schedules) {
      int taken_at = 0;  // step of the latest take
      for (const Transfer& t : s.receives)
        if (host_of(shape, s.rank).has(t.from)) {
          const auto fetched = fetch_step.find({t.from, t.chunk});
          ASSERT_NE(fetched, fetch_step.end()) << shape << ", rank " << s.rank;
          EXPECT_EQ(t.step, fetched->second + 1) << shape << ", rank " << s.rank;
          taken_at = t.step;
        } else {
          EXPECT_LT(taken_at, t.step) << shape << ", rank " << s.rank;
        }
    }
  }
}

TEST(Order, HierarchicalTakesFromTheSiblingsAfterItself) {
  for_each_rank(Algorithm::kHierarchical, [](const Shape& shape, int rank) {
    const HostRanks host = host_of(shape, rank);
    // All waves but the last have a chunk of each sibling: so the givers come round and round.
    const int full_waves =
        shape.num_pieces + (shape.num_ranks - host.size()) * shape.num_pieces / host.size();
    int giver = rank, takes = full_waves * (host.size() - 1);
    for (const Arrival& a : arrivals(shape, rank)) {
      if (!host.has(a.from) || takes-- == 0) continue;
      if (takes < 0) break;
      giver = host.next(giver);
      if (giver == rank) giver = host.next(giver);
      EXPECT_EQ(a.from, giver) << shape << ", rank " << rank;
    }
  });
}

// In the last wave, where some siblings have nothing, those do not all turn to the same one.
TEST(Order, HierarchicalSpreadsTheLastTakes) {
  const Shape one_left{.algorithm = Algorithm::kHierarchical, .num_ranks = 9, .num_hosts = 2};
  // Host {5, 6, 7, 8} fetches 0 .. 4: the second wave is shard 4, brought by rank 5.
  for (const int rank : {6, 7, 8})
    EXPECT_EQ(arrivals(one_left, rank).back(), (Arrival{4, 0, 5, 3})) << rank;
  const Shape two_left{.algorithm = Algorithm::kHierarchical, .num_ranks = 10, .num_hosts = 3};
  // Host {0, 1, 2, 3} fetches 4 .. 9: the second wave is 8 and 9, brought by ranks 0 and 1. Rank 2
  // begins with rank 0, rank 3 with rank 1.
  const std::vector<Arrival> of_2 = arrivals(two_left, 2), of_3 = arrivals(two_left, 3);
  EXPECT_EQ(of_2.end()[-2], (Arrival{8, 0, 0, 3}));
  EXPECT_EQ(of_2.back(), (Arrival{9, 0, 1, 3}));
  EXPECT_EQ(of_3.end()[-2], (Arrival{9, 0, 1, 3}));
  EXPECT_EQ(of_3.back(), (Arrival{8, 0, 0, 3}));
}

TEST(Order, HierarchicalSendsInTheOrderOfItsReceivers) {
  for (const Shape& shape : all_shapes()) {
    if (shape.algorithm != Algorithm::kHierarchical) continue;
    const std::vector<RankSchedule> schedules = make_all(shape);
    // Place of each transfer into a rank among those of its step: 0 for the fetch, takes from 1.
    std::map<std::pair<int, int>, int> place;  // by (receiver, chunk)
    for (const RankSchedule& s : schedules) {
      std::map<int, int> num_takes;  // by step
      for (const Transfer& t : s.receives)
        place[{s.rank, t.chunk}] = host_of(shape, s.rank).has(t.from) ? ++num_takes[t.step] : 0;
    }
    for (const RankSchedule& s : schedules) {
      std::vector<std::array<int, 3>> order;
      for (const Transfer& t : s.sends) order.push_back({t.step, place[{t.to, t.chunk}], t.to});
      EXPECT_TRUE(std::ranges::is_sorted(order)) << shape << ", rank " << s.rank;
    }
  }
}

TEST(Order, AtAnyStepTheWorkOfSendingIsShared) {  // no rank is asked by all at once
  for (const Shape& shape : all_shapes()) {
    if (shape.algorithm == Algorithm::kHierarchical) continue;
    std::map<int, std::map<int, int>> sends;  // by step and rank
    for (const RankSchedule& s : make_all(shape))
      for (const Transfer& t : s.sends) ++sends[t.step][s.rank];
    for (const auto& [step, of_rank] : sends) {
      EXPECT_EQ(static_cast<int>(of_rank.size()), shape.num_ranks) << shape << ", step " << step;
      for (const auto& [rank, count] : of_rank)
        EXPECT_EQ(count, of_rank.begin()->second) << shape << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace cmm::schedule
