#include "schedule/traffic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "cmm/error.hpp"
#include "schedule/shapes.hpp"

namespace cmm::schedule {
namespace {

Traffic of(Algorithm algorithm, int num_ranks, int num_pieces, int num_hosts = 1) {
  return traffic({algorithm, num_ranks, num_pieces, num_hosts});
}

TEST(Traffic, OfOneRankIsNone) {
  for (const Algorithm algorithm : kAlgorithms) {
    const Traffic t = of(algorithm, 1, 3);
    EXPECT_EQ(t.num_steps + t.most_hops + t.chunks_into_rank + t.most_chunks_out +
                  t.most_chunks_on_link + t.most_chunks_into_host + t.most_chunks_out_of_host,
              0);
  }
}

TEST(Traffic, CountsWhatEachRankReceivesAndSends) {
  for (const Shape& shape : all_shapes()) {
    const Traffic t = traffic(shape);
    EXPECT_EQ(t.chunks_into_rank, received_chunks(shape)) << shape;
    std::size_t most_sends = 0;
    for (const RankSchedule& s : make_all(shape)) most_sends = std::max(most_sends, s.sends.size());
    EXPECT_EQ(t.most_chunks_out, static_cast<int>(most_sends)) << shape;
  }
}

TEST(Traffic, RefusesAShapeThatCannotBe) { EXPECT_THROW(traffic({.num_ranks = 0}), Error); }

TEST(Traffic, StepsAndHops) {
  for (int P = 2; P <= 33; ++P)
    for (const int Q : {1, 3}) {
      EXPECT_EQ(of(Algorithm::kDirect, P, Q).num_steps, P - 1);
      EXPECT_EQ(of(Algorithm::kDirect, P, Q).most_hops, 1);
      EXPECT_EQ(of(Algorithm::kRing, P, Q).num_steps, P - 1);
      EXPECT_EQ(of(Algorithm::kRing, P, Q).most_hops, P - 1);
      EXPECT_EQ(of(Algorithm::kBidirectional, P, Q).num_steps, P - 1);
      EXPECT_EQ(of(Algorithm::kBidirectional, P, Q).most_hops, P - 1);
      const Traffic doubling = of(Algorithm::kRecursiveDoubling, P, Q);
      EXPECT_EQ(1 << (doubling.num_steps - 1) < P && P <= 1 << doubling.num_steps, true) << P;
      EXPECT_EQ(doubling.most_hops, std::bit_width(static_cast<unsigned>(P)) - 1) << P;
      EXPECT_EQ(of(Algorithm::kHierarchical, 2 * P, Q, 2).most_hops, 2);
      EXPECT_EQ(of(Algorithm::kHierarchical, 2 * P, Q, 2).num_steps, Q + 1);
      EXPECT_EQ(of(Algorithm::kHierarchical, P, Q, P).most_hops, 1);
    }
}

TEST(Traffic, CountsTheHopsOfTheOnlyChunkThatIsForwarded) {  // shard 2, by rank 0 to rank 1
  EXPECT_EQ(of(Algorithm::kHierarchical, 3, 1, 2).most_hops, 2);
}

TEST(Traffic, OverTheBusiestLink) {
  EXPECT_EQ(of(Algorithm::kDirect, 8, 3).most_chunks_on_link, 3);
  EXPECT_EQ(of(Algorithm::kRing, 8, 3).most_chunks_on_link, 21);
  EXPECT_EQ(of(Algorithm::kBidirectional, 8, 3).most_chunks_on_link, 21);  // of half the size
  EXPECT_EQ(of(Algorithm::kRecursiveDoubling, 8, 3).most_chunks_on_link, 12);
  EXPECT_EQ(of(Algorithm::kRecursiveDoubling, 7, 3).most_chunks_on_link, 9);
  // Between two ranks of a host: what the one owns, and its share of what comes from elsewhere.
  EXPECT_EQ(of(Algorithm::kHierarchical, 8, 3, 2).most_chunks_on_link, 3 + 3);
}

TEST(Traffic, BetweenHosts) {
  for (const Algorithm algorithm : kAlgorithms) {
    EXPECT_EQ(of(algorithm, 8, 1).most_chunks_into_host, 0);
    EXPECT_EQ(of(algorithm, 8, 1).most_chunks_out_of_host, 0);
  }
  // Into a host of 4 come the 4 shards of the other, once; direct brings each to all 4 ranks.
  EXPECT_EQ(of(Algorithm::kHierarchical, 8, 3, 2).most_chunks_into_host, 12);
  EXPECT_EQ(of(Algorithm::kHierarchical, 8, 3, 2).most_chunks_out_of_host, 12);
  EXPECT_EQ(of(Algorithm::kDirect, 8, 3, 2).most_chunks_into_host, 48);
  // A ring has one link into each host.
  EXPECT_EQ(of(Algorithm::kRing, 8, 3, 2).most_chunks_into_host, 21);
  // Hosts of 3, 2 and 2: the smaller ones need 5 shards of others, the largest sends 3 to each.
  EXPECT_EQ(of(Algorithm::kHierarchical, 7, 1, 3).most_chunks_into_host, 5);
  EXPECT_EQ(of(Algorithm::kHierarchical, 7, 1, 3).most_chunks_out_of_host, 6);
}

}  // namespace
}  // namespace cmm::schedule
