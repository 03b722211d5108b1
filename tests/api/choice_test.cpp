// Which algorithm a plan takes on several hosts, and what crosses their links. The costs are
// compared with the schedules themselves.
#include <gtest/gtest.h>

#include "api/gather_cost.hpp"
#include "api/plan_state.hpp"
#include "schedule/traffic.hpp"

namespace cmm::api {
namespace {

constexpr schedule::Algorithm kAll[] = {
    schedule::Algorithm::kDirect, schedule::Algorithm::kRing, schedule::Algorithm::kBidirectional,
    schedule::Algorithm::kRecursiveDoubling, schedule::Algorithm::kHierarchical};

std::vector<int> consecutive(int num_ranks, int num_hosts) {
  std::vector<int> hosts;
  for (int host = 0; host < num_hosts; ++host) {
    hosts.insert(hosts.end(),
                 static_cast<std::size_t>(even_part(num_ranks, num_hosts, host).size()), host);
  }
  return hosts;
}

std::vector<int> alternating(int num_ranks, int num_hosts) {
  std::vector<int> hosts;
  for (int rank = 0; rank < num_ranks; ++rank) hosts.push_back(rank % num_hosts);
  return hosts;
}

// Shards that enter the busiest host, counted in the schedules of all ranks.
std::int64_t counted(schedule::Algorithm algorithm, const std::vector<int>& hosts) {
  const schedule::Shape shape = {.algorithm = algorithm,
                                 .num_ranks = static_cast<int>(hosts.size()),
                                 .num_hosts = num_hosts(hosts)};
  std::vector<std::int64_t> chunks(static_cast<std::size_t>(num_hosts(hosts)), 0);
  for (int rank = 0; rank < shape.num_ranks; ++rank) {
    for (const auto& transfer : schedule::make_rank_schedule(shape, rank).receives) {
      const int to = hosts[static_cast<std::size_t>(rank)];
      if (hosts[static_cast<std::size_t>(transfer.from)] != to) {
        ++chunks[static_cast<std::size_t>(to)];
      }
    }
  }
  return ceil_div(*std::max_element(chunks.begin(), chunks.end()),
                  schedule::chunks_per_shard(shape));
}

TEST(GatherCost, CountsWhatTheSchedulesSend) {
  for (int num_ranks = 2; num_ranks <= 24; ++num_ranks) {
    for (int num_hosts = 2; num_hosts <= num_ranks; ++num_hosts) {
      for (const bool mixed : {false, true}) {
        const std::vector<int> hosts =
            mixed ? alternating(num_ranks, num_hosts) : consecutive(num_ranks, num_hosts);
        for (const schedule::Algorithm algorithm : kAll) {
          if (algorithm == schedule::Algorithm::kHierarchical &&
              !hosts_are_even_and_consecutive(hosts)) {
            continue;
          }
          EXPECT_EQ(gather_cost(algorithm, hosts).shards_into_host, counted(algorithm, hosts))
              << schedule::algorithm_name(algorithm) << " P=" << num_ranks << " H=" << num_hosts
              << " mixed=" << mixed;
        }
      }
    }
  }
}

TEST(GatherCost, IsNothingOnOneHost) {
  for (const schedule::Algorithm algorithm : kAll) {
    EXPECT_EQ(gather_cost(algorithm, {0, 0, 0}).seconds({}, 1 << 20), 0);
  }
}

Choice choice_for(const std::vector<int>& hosts, std::int64_t m, const Network& network = {}) {
  const ProblemShape shape = {.m = m, .k = 4096, .n_local = {1024}, .dtype = DType::kBF16};
  Options options;
  options.network = network;
  check_shape(shape, options, static_cast<int>(hosts.size()));
  return choose(shape, options, hosts);
}

TEST(Choice, ReadsInPlaceOnOneHost) {
  const Choice choice = choice_for({0, 0, 0, 0}, 4096);
  EXPECT_EQ(choice.schedule.algorithm, schedule::Algorithm::kDirect);
  EXPECT_EQ(choice.schedule.num_pieces, 1);
  EXPECT_NE(choice.reason.find("one host"), std::string::npos);
}

TEST(Choice, BringsEachByteIntoAHostOnce) {
  const Choice choice = choice_for({0, 0, 1, 1}, 4096);
  EXPECT_EQ(choice.schedule.algorithm, schedule::Algorithm::kHierarchical);
  EXPECT_EQ(choice.schedule.num_hosts, 2);
  EXPECT_NE(choice.reason.find("2 hosts"), std::string::npos) << choice.reason;
  EXPECT_NE(choice.reason.find("1.17 GB/s"), std::string::npos) << choice.reason;
  // 1024 rows of 8 KiB per shard.
  EXPECT_EQ(choice.schedule.num_pieces, 16);
  EXPECT_EQ(choice.schedule.num_slots, schedule::received_chunks(choice.schedule));
}

TEST(Choice, GoesDirectWhereEveryRankHasItsHost) {
  EXPECT_EQ(choice_for({0, 1, 2, 3}, 4096).schedule.algorithm, schedule::Algorithm::kDirect);
}

TEST(Choice, TakesWhatFitsWhereRanksOfAHostLieApart) {
  const Choice choice = choice_for({0, 1, 0, 1}, 4096);
  EXPECT_NE(choice.schedule.algorithm, schedule::Algorithm::kHierarchical);
  EXPECT_NE(choice.reason.find("not hierarchical"), std::string::npos) << choice.reason;
  Options options;
  options.algorithm = Algorithm::kHierarchical;
  EXPECT_NO_THROW(check_hosts(options, {0, 0, 1, 1}));
  EXPECT_THROW(check_hosts(options, {0, 1, 0, 1}), Error);
}

// Four ranks a host, apart: a ring lets 31 shards into a host per rank, direct 24.
TEST(Choice, FollowsTheLinks) {
  const std::vector<int> hosts = alternating(32, 8);
  const auto seconds = [&](schedule::Algorithm algorithm, const Network& network) {
    return gather_cost(algorithm, hosts).seconds(network, 1 << 20);
  };
  const Network slow = {.bytes_per_second = 1e8, .latency_seconds = 1e-6};
  const Network distant = {.bytes_per_second = 1e12, .latency_seconds = 1};
  EXPECT_GT(seconds(schedule::Algorithm::kRing, slow), seconds(schedule::Algorithm::kDirect, slow));
  EXPECT_EQ(choice_for(hosts, 1 << 15, distant).schedule.algorithm, schedule::Algorithm::kDirect);
}

TEST(Choice, LeavesSlotsToTheScheduleWhereMemoryWouldBeTooMuch) {
  EXPECT_EQ(choice_for({0, 0, 1, 1}, std::int64_t{1} << 20).schedule.num_slots, 0);
}

TEST(Choice, ChecksTheNetwork) {
  EXPECT_THROW(choice_for({0, 1}, 16, {.bytes_per_second = 0}), Error);
  EXPECT_THROW(choice_for({0, 1}, 16, {.latency_seconds = -1}), Error);
}

TEST(ForecastGather, SaysWhatAPlanChoosesAndWhatItCosts) {
  const ProblemShape shape = {.m = 4096, .k = 4096, .n_local = {1024}, .dtype = DType::kBF16};
  Options options;
  options.network = {.bytes_per_second = 1e9, .latency_seconds = 1e-3};
  const GatherForecast two_hosts = forecast_gather(shape, options, {0, 0, 1, 1});
  const Choice choice = choice_for({0, 0, 1, 1}, 4096, options.network);
  EXPECT_EQ(two_hosts.algorithm, Algorithm::kHierarchical);
  EXPECT_EQ(two_hosts.pieces, choice.schedule.num_pieces);
  EXPECT_EQ(two_hosts.num_chunks, 4 * choice.schedule.num_pieces);
  EXPECT_EQ(two_hosts.hosts, 2);
  EXPECT_EQ(two_hosts.link_bytes, std::int64_t{2} * 1024 * 4096 * 2);
  EXPECT_DOUBLE_EQ(two_hosts.link_seconds, 1e-3 + 2 * 1024 * 4096 * 2 / 1e9);
  EXPECT_EQ(two_hosts.reason, choice.reason);

  options.algorithm = Algorithm::kRing;
  const GatherForecast ring = forecast_gather(shape, options, {0, 0, 1, 1});
  EXPECT_EQ(ring.algorithm, Algorithm::kRing);
  EXPECT_EQ(ring.link_bytes, std::int64_t{3} * 1024 * 4096 * 2);

  const GatherForecast one_host = forecast_gather(shape, {}, {0, 0});
  EXPECT_EQ(one_host.algorithm, Algorithm::kDirect);
  EXPECT_EQ(one_host.link_bytes, 0);
  EXPECT_EQ(one_host.link_seconds, 0);
}

TEST(ForecastGather, RefusesWhatPlansRefuse) {
  const ProblemShape shape = {.m = 8, .k = 8, .n_local = {8}};
  EXPECT_THROW(forecast_gather(shape, {}, {}), Error);
  EXPECT_THROW(forecast_gather(shape, {}, {1, 0}), Error);
  EXPECT_THROW(forecast_gather(shape, {}, {0, -1}), Error);
  EXPECT_THROW(forecast_gather(shape, {}, {0, 2}), Error);
  EXPECT_THROW(forecast_gather({.m = -1, .k = 8, .n_local = {8}}, {}, {0, 1}), Error);
  EXPECT_THROW(forecast_gather(shape, {.algorithm = Algorithm::kHierarchical}, {0, 1, 0}), Error);
}

}  // namespace
}  // namespace cmm::api
