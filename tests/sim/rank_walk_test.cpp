// The walk of all ranks: exact times of small cases, the rules of the schedule in large ones, and
// ranks that stand for all.
#include "sim/rank_walk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>

#include "cmm/error.hpp"
#include "schedule/traffic.hpp"
#include "sim/host_network.hpp"
#include "sim/slice_network.hpp"

namespace cmm::sim {
namespace {

using schedule::Algorithm;
using schedule::Partition;
using schedule::Shape;

constexpr Algorithm kAlgorithms[] = {Algorithm::kDirect, Algorithm::kRing,
                                     Algorithm::kBidirectional, Algorithm::kRecursiveDoubling,
                                     Algorithm::kHierarchical};

// All times and rates are sums of powers of two in most tests, so that expected times are exact.
struct Case {
  Shape shape;
  std::int64_t m = 0;
  double row_seconds = 0;  // of multiplying
  std::int64_t wave_rows = 0;
  bool gathers_first = false;
  int max_in_flight = 0;
};

RankTimes walk(const Case& one, const Network& network, bool whole, bool record = false) {
  const Partition partition = Partition::even(one.m, one.shape);
  const auto multiply = [&](std::int64_t rows, bool) {
    return one.row_seconds * static_cast<double>(rows);
  };
  const RankWork work{.shape = one.shape,
                      .partition = &partition,
                      .row_bytes = 1,
                      .multiply_seconds = multiply,
                      .wave_rows = one.wave_rows,
                      .gathers_first = one.gathers_first,
                      .max_in_flight = one.max_in_flight};
  return walk_ranks(
      work, network,
      whole ? no_symmetry(one.shape, network) : find_symmetry(one.shape, partition, network),
      record);
}

// One rank on each host, one byte per second, half a second of latency.
HostNetwork hosts(int num_ranks) {
  return HostNetwork({.num_ranks = num_ranks,
                      .num_hosts = num_ranks,
                      .link_bytes_per_second = 1,
                      .link_seconds = 0.5,
                      .memory_bytes_per_second = 1e9});
}

double idle_of(const RankTimes& times, Idle idle) {
  return times.idle_seconds[static_cast<int>(idle)];
}

TEST(RankWalk, OneRankOnlyMultiplies) {
  const Case one{.shape = {.num_ranks = 1, .num_pieces = 4}, .m = 12, .row_seconds = 2};
  const RankTimes times = walk(one, hosts(1), false);
  EXPECT_EQ(times.seconds, 24);
  EXPECT_EQ(times.multiply_seconds, 24);
  EXPECT_TRUE(times.links.empty());
}

TEST(RankWalk, TwoRanksExchange) {
  // A shard of 4 rows: 4 s of transfer, 0.5 s of latency; each multiplies its own 4 rows in 1 s.
  const Case one{.shape = {.num_ranks = 2}, .m = 8, .row_seconds = 0.25};
  const RankTimes times = walk(one, hosts(2), false);
  EXPECT_EQ(times.num_walked, 1);
  EXPECT_EQ(times.seconds, 5.5);
  EXPECT_EQ(times.multiply_seconds, 2);
  EXPECT_EQ(idle_of(times, Idle::kTransfer), 3);
  EXPECT_EQ(idle_of(times, Idle::kLatency), 0.5);
  ASSERT_EQ(times.links.size(), 2u);
  EXPECT_EQ(times.links[0].bytes, 4);
  EXPECT_EQ(times.links[0].num_links, 2);
}

TEST(RankWalk, DirectSharesTheLinkAmongAllOwners) {
  // Three shards of 4 rows each over one link: all are there after 12 s and not before.
  const Case one{.shape = {.num_ranks = 4, .num_slots = 3}, .m = 16};
  EXPECT_EQ(walk(one, hosts(4), false).seconds, 12.5);
  // With one at a time the first is there after 4 s.
  Case in_turn = one;
  in_turn.max_in_flight = 1;
  const RankTimes times = walk(in_turn, hosts(4), false, true);
  EXPECT_EQ(times.seconds, 12.5);
  EXPECT_EQ(times.transfers.at(0).end_seconds, 4.5);
}

TEST(RankWalk, RingPassesOnAtOnce) {
  // Pieces of 1 row: every link is busy from the start to the last byte.
  const Case pieces{
      .shape = {.algorithm = Algorithm::kRing, .num_ranks = 5, .num_pieces = 4, .num_slots = 16},
      .m = 20};
  EXPECT_EQ(walk(pieces, hosts(5), false).seconds, 16.5);
  // A shard at a time waits for the latency of each hop.
  const Case whole{.shape = {.algorithm = Algorithm::kRing, .num_ranks = 5, .num_slots = 4},
                   .m = 20};
  const RankTimes times = walk(whole, hosts(5), false);
  EXPECT_EQ(times.seconds, 4 * 4.5);
  EXPECT_EQ(idle_of(times, Idle::kTransfer), 16);
  EXPECT_EQ(idle_of(times, Idle::kLatency), 2);
}

TEST(RankWalk, RecursiveDoublingTakesLogSteps) {
  // Steps of 1, 2 and 4 shards, each a latency after the one before: a chunk is passed on when all
  // ranks have it at the same time, so the link is idle for the latency of two steps.
  const Case one{
      .shape = {.algorithm = Algorithm::kRecursiveDoubling, .num_ranks = 8, .num_slots = 7},
      .m = 8};
  const RankTimes times = walk(one, hosts(8), false);
  EXPECT_GE(times.seconds, 7.5);
  EXPECT_LE(times.seconds, 8.5);
}

TEST(RankWalk, BidirectionalUsesBothDirectionsOfASlice) {
  const SliceNetwork network({{2, 4}, {false, false}, 1, 0.25});
  const Case two_way{.shape = {.algorithm = Algorithm::kBidirectional,
                               .num_ranks = 8,
                               .num_pieces = 4,
                               .num_slots = 56},
                     .m = 64};
  // 7 half shards of 4 rows each way.
  EXPECT_EQ(walk(two_way, network, false).seconds, 28.25);
  Case one_way = two_way;
  one_way.shape.algorithm = Algorithm::kRing;
  EXPECT_EQ(walk(one_way, network, false).seconds, 56.25);
}

TEST(RankWalk, AWaveTakesWhatHasArrived) {
  const Case one{
      .shape = {.num_ranks = 4, .num_slots = 3}, .m = 16, .row_seconds = 1, .wave_rows = 8};
  const RankTimes times = walk(one, hosts(4), false, true);
  ASSERT_EQ(times.products.size(), 3u);  // own; two; one that no longer fits
  EXPECT_EQ(times.products[1].chunks.size(), 2u);
  EXPECT_EQ(times.seconds, 12.5 + 12);
  Case after_all = one;
  after_all.gathers_first = true;
  const RankTimes late = walk(after_all, hosts(4), false, true);
  ASSERT_EQ(late.products.size(), 1u);
  EXPECT_EQ(late.products[0].chunks.size(), 4u);
  EXPECT_EQ(late.seconds, 12.5 + 16);
}

TEST(RankWalk, ASlotThatIsUsedAgainHoldsUpTheTransfer) {
  // One slot: the second shard is asked for when the first, there after 4.5 s, is multiplied (own 4
  // rows until 8 s, then until 16 s), which the sender hears at 16.5 s; there at 21, done at 29.
  const Case one{.shape = {.num_ranks = 3, .num_slots = 1}, .m = 12, .row_seconds = 2};
  const RankTimes times = walk(one, hosts(3), false);
  EXPECT_EQ(times.seconds, 29);
  EXPECT_EQ(idle_of(times, Idle::kLatency), 1);
  EXPECT_EQ(idle_of(times, Idle::kTransfer), 4);
}

TEST(RankWalk, RowsOfTheSameHostAreReadInPlace) {
  const HostNetwork network({.num_ranks = 4,
                             .num_hosts = 1,
                             .memory_bytes_per_second = 8,
                             .look_seconds = 0.125,
                             .reads_in_place = true});
  Case one{.shape = {.num_ranks = 4}, .m = 16};
  const RankTimes direct = walk(one, network, false);
  EXPECT_EQ(direct.seconds, 0.125);
  EXPECT_TRUE(direct.links.empty());
  // A ring copies: three shards of 4 bytes into each of 4 ranks, read and written.
  one.shape = {.algorithm = Algorithm::kRing, .num_ranks = 4, .num_pieces = 2, .num_slots = 6};
  const RankTimes ring = walk(one, network, false);
  EXPECT_EQ(ring.num_walked, 1);
  ASSERT_EQ(ring.links.size(), 1u);
  EXPECT_EQ(ring.links[0].bytes, 4 * 3 * 4 * 2);
  EXPECT_EQ(ring.seconds, 12.0 + 0.125);
}

// Random shapes on random hosts and slices.
struct World {
  std::string name;
  std::unique_ptr<Network> network;
  int num_hosts = 1;
};
std::vector<World> worlds(int P) {
  std::vector<World> all;
  for (const int H : {1, 2, 3, P})
    if (H <= P)
      all.push_back({std::to_string(H) + " hosts",
                     std::make_unique<HostNetwork>(HostMachine{.num_ranks = P,
                                                               .num_hosts = H,
                                                               .link_bytes_per_second = 3,
                                                               .link_seconds = 0.7,
                                                               .memory_bytes_per_second = 50,
                                                               .look_seconds = 0.01,
                                                               .reads_in_place = true}),
                     H});
  all.push_back({"line", std::make_unique<SliceNetwork>(SliceMachine{{P}, {false}, 3, 0.3}), 1});
  all.push_back({"ring", std::make_unique<SliceNetwork>(SliceMachine{{P}, {true}, 3, 0.3}), 1});
  if (P % 2 == 0)
    all.push_back({"grid",
                   std::make_unique<SliceNetwork>(SliceMachine{{2, P / 2}, {false, true}, 3, 0.3}),
                   P % 4 == 0 ? 2 : 1});
  return all;
}

std::vector<Case> cases(int P, int num_hosts) {
  std::vector<Case> all;
  for (const Algorithm algorithm : kAlgorithms)
    for (const int Q : {1, 3})
      for (const int slots : {0, 1, 2})  // default, fewest, all
        for (const bool even : {true, false}) {
          Case one;
          one.shape = {
              .algorithm = algorithm, .num_ranks = P, .num_pieces = Q, .num_hosts = num_hosts};
          if (slots == 1) one.shape.num_slots = schedule::min_slots(one.shape);
          if (slots == 2) one.shape.num_slots = schedule::received_chunks(one.shape);
          one.m = even ? 6 * P : 6 * P - 5;
          one.row_seconds = Q == 1 ? 0.31 : 0.07;
          one.wave_rows = slots == 2 ? 10 : 0;
          one.gathers_first = slots == 2 && !even;
          one.max_in_flight = slots == 1 ? 1 + Q : 0;
          all.push_back(one);
        }
  return all;
}

// Looks at a record as someone would who has the schedule in hand.
void check_rules(const Case& one, const RankTimes& times, const std::string& where) {
  const Shape& shape = one.shape;
  const int P = shape.num_ranks, C = schedule::chunks_per_shard(shape);
  std::map<std::pair<int, int>, double> here, multiplied, sent;  // by rank and chunk
  for (int rank = 0; rank < P; ++rank)
    for (int piece = 0; piece < C; ++piece) here[{rank, rank * C + piece}] = 0;
  for (const WalkedTransfer& t : times.transfers)
    EXPECT_TRUE(here.emplace(std::pair{t.transfer.to, t.transfer.chunk}, t.end_seconds).second);
  ASSERT_EQ(here.size(), static_cast<std::size_t>(P) * schedule::num_chunks(shape)) << where;
  std::map<int, std::vector<std::pair<double, double>>> busy;
  for (const WalkedProduct& product : times.products) {
    busy[product.rank].push_back({product.begin_seconds, product.end_seconds});
    for (const int chunk : product.chunks) {
      EXPECT_TRUE(multiplied.emplace(std::pair{product.rank, chunk}, product.end_seconds).second);
      EXPECT_LE((here[{product.rank, chunk}]), product.begin_seconds) << where;
    }
  }
  for (auto& [rank, spans] : busy) {
    std::ranges::sort(spans);
    for (std::size_t i = 1; i < spans.size(); ++i)
      EXPECT_LE(spans[i - 1].second, spans[i].first) << where;
  }
  std::map<std::tuple<int, int>, std::vector<std::pair<double, double>>> streams;
  for (const WalkedTransfer& t : times.transfers) {
    EXPECT_LE((here[{t.transfer.from, t.transfer.chunk}]), t.begin_seconds) << where;
    EXPECT_LE(t.begin_seconds, t.left_seconds) << where;
    EXPECT_LE(t.left_seconds, t.end_seconds) << where;
    if (!t.in_place)
      streams[{t.transfer.from, t.transfer.to}].push_back({t.begin_seconds, t.left_seconds});
    // A chunk read in place leaves the memory it lies in once it is multiplied.
    const double left = t.in_place ? multiplied[{t.transfer.to, t.transfer.chunk}] : t.left_seconds;
    double& last = sent[{t.transfer.from, t.transfer.chunk}];
    last = std::max(last, left);
  }
  for (auto& [ends, spans] : streams) {  // one chunk at a time from one rank to one other
    std::ranges::sort(spans);
    for (std::size_t i = 1; i < spans.size(); ++i)
      EXPECT_LE(spans[i - 1].second, spans[i].first) << where;
  }
  for (const WalkedTransfer& t : times.transfers) {
    if (t.transfer.after == schedule::kNone || t.in_place) continue;
    const std::pair before{t.transfer.to, t.transfer.after};
    EXPECT_LE(multiplied[before], t.begin_seconds) << where;
    const auto left = sent.find(before);
    EXPECT_TRUE(left == sent.end() || left->second <= t.begin_seconds) << where;
  }
  double last = 0;  // an empty chunk is multiplied when it arrives
  for (const auto& [holding, seconds] : here) last = std::max(last, seconds);
  for (const WalkedProduct& product : times.products) last = std::max(last, product.end_seconds);
  EXPECT_EQ(last, times.seconds) << where;
}

TEST(RankWalk, KeepsTheRulesOfEverySchedule) {
  for (int P = 1; P <= 8; ++P)
    for (const World& world : worlds(P))
      for (const Case& one : cases(P, world.num_hosts)) {
        const std::string where = world.name + ", " + std::to_string(P) + " ranks, " +
                                  std::string(algorithm_name(one.shape.algorithm));
        const RankTimes times = walk(one, *world.network, true, true);
        check_rules(one, times, where);
        const double sum = std::accumulate(times.idle_seconds, times.idle_seconds + kNumIdles,
                                           times.multiply_seconds);
        EXPECT_NEAR(sum, times.seconds, 1e-9 * times.seconds) << where;
        EXPECT_NEAR(times.multiply_seconds, one.row_seconds * static_cast<double>(one.m), 1e-9)
            << where;
      }
}

TEST(RankWalk, RanksThatStandForAllComputeTheSameBits) {
  int num_symmetric = 0;
  for (int P = 1; P <= 12; ++P)
    for (const World& world : worlds(P))
      for (const Case& one : cases(P, world.num_hosts)) {
        const std::string where = world.name + ", " + std::to_string(P) + " ranks, " +
                                  std::string(algorithm_name(one.shape.algorithm));
        const RankTimes few = walk(one, *world.network, false);
        if (few.num_walked == P) continue;
        ++num_symmetric;
        const RankTimes all = walk(one, *world.network, true);
        EXPECT_EQ(few.seconds, all.seconds) << where;
        EXPECT_EQ(few.last_rank, all.last_rank) << where;
        EXPECT_EQ(few.multiply_seconds, all.multiply_seconds) << where;
        for (int i = 0; i < kNumIdles; ++i)
          EXPECT_EQ(few.idle_seconds[i], all.idle_seconds[i]) << where << ", cause " << i;
        int num_links = 0;
        for (const LinkLoad& load : few.links) {
          num_links += load.num_links;
          const auto same = std::ranges::find(all.links, load.link, &LinkLoad::link);
          ASSERT_NE(same, all.links.end()) << where;
          EXPECT_EQ(load.bytes, same->bytes) << where;
        }
        EXPECT_EQ(num_links, static_cast<int>(all.links.size())) << where;
      }
  EXPECT_GT(num_symmetric, 300);
}

TEST(RankWalk, CountsOnLinksWhatTheSchedulesCount) {
  for (const Algorithm algorithm : kAlgorithms) {
    const Shape shape{.algorithm = algorithm, .num_ranks = 12, .num_pieces = 2, .num_hosts = 3};
    const HostNetwork network({.num_ranks = 12,
                               .num_hosts = 3,
                               .link_bytes_per_second = 1,
                               .memory_bytes_per_second = 1,
                               .reads_in_place = true});
    const int rows_of_chunk = 3;
    const RankTimes times =
        walk({.shape = shape, .m = rows_of_chunk * schedule::num_chunks(shape)}, network, false);
    const schedule::Traffic traffic = schedule::traffic(shape);
    for (const LinkLoad& load : times.links) {
      const std::string& name = network.links()[load.link].name;
      if (name == "into host 0") {
        EXPECT_EQ(load.bytes, 3 * traffic.most_chunks_into_host);
      }
      if (name == "out of host 0") {
        EXPECT_EQ(load.bytes, 3 * traffic.most_chunks_out_of_host);
      }
    }
    EXPECT_GE(times.links.size(), 2u);
  }
}

TEST(RankWalk, ThousandsOfRanks) {
  const Case one{
      .shape = {.algorithm = Algorithm::kBidirectional, .num_ranks = 1024, .num_pieces = 2},
      .m = 4096};
  EXPECT_EQ(walk(one, hosts(1024), false).num_walked, 1);
}

TEST(RankWalk, RefusesTooManyFarTransfers) {
  const SliceNetwork network({{16, 16}, {true, true}, 1, 0});
  const Case one{.shape = {.num_ranks = 256}, .m = 256, .max_in_flight = 4};
  try {
    walk(one, network, false);
    ADD_FAILURE();
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("256 of 256 ranks must be walked one by one, since the transfers of direct "
                        "cross links that carry different loads: transfers over three links and "
                        "more cross "),
              std::string::npos)
        << what;
    EXPECT_NE(what.find(" links, of which at most 131072 can be; "), std::string::npos) << what;
  }
}

TEST(RankWalk, RefusesWhatIsTooLarge) {
  const Case one{.shape = {.num_ranks = 1024, .num_pieces = 2}, .m = 1025};
  try {
    walk(one, hosts(1024), false);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_STREQ(error.what(),
                 "1024 of 1024 ranks must be walked one by one, since the 1025 rows of x are not "
                 "spread evenly over 1024 ranks: 2095104 transfers, of which at most 1048576 can "
                 "be; take fewer ranks or pieces, or what is the same on all ranks");
  }
}

}  // namespace
}  // namespace cmm::sim
