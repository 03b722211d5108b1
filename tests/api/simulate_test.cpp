// cmm::simulate: what the figures must satisfy whatever the machine, and what is refused.
#include "cmm/simulate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "cmm/error.hpp"
#include "cmm/tpu_kernel.hpp"

namespace cmm {
namespace {

constexpr Algorithm kAlgorithms[] = {Algorithm::kDirect, Algorithm::kRing,
                                     Algorithm::kBidirectional, Algorithm::kRecursiveDoubling,
                                     Algorithm::kHierarchical};

ProblemShape problem(std::int64_t m, std::int64_t n_local = 512) {
  return {.m = m, .k = 2048, .n_local = {n_local}, .dtype = DType::kBF16};
}

SimulatedSlice slice(const char* chip, std::vector<int> chips) {
  return {.chip = tpu::chip(chip), .chips = std::move(chips)};
}

SimulateOptions with(Algorithm algorithm, int pieces = 0) {
  return {.algorithm = algorithm, .pieces = pieces};
}

void expect_consistent(const RankSimulation& it, const std::string& where) {
  EXPECT_GE(it.seconds, it.bound.transfer_seconds) << where;
  EXPECT_GE(it.gather_seconds, it.bound.transfer_seconds * (1 - 1e-12)) << where;
  EXPECT_GE(it.multiply_seconds, it.bound.multiply_seconds * (1 - 1e-12)) << where;
  EXPECT_NEAR(it.multiply_seconds + it.exposed_seconds, it.seconds, 1e-9 * it.seconds) << where;
  EXPECT_NEAR(it.exposed_seconds,
              it.idle_transfer_seconds + it.idle_latency_seconds + it.idle_upstream_seconds +
                  it.idle_slot_seconds,
              1e-9 * it.seconds)
      << where;
  EXPECT_NEAR(it.share_of_bound, it.bound.seconds / it.seconds, 1e-12) << where;
  EXPECT_FALSE(it.reason.empty()) << where;
  double busier = std::numeric_limits<double>::infinity();
  for (const SimulatedLink& link : it.links) {
    EXPECT_LE(link.busy, busier) << where;
    EXPECT_LE(link.busy, 1 + 1e-9) << where << ": " << link.name;
    busier = link.busy;
  }
}

TEST(Simulate, FiguresOfHostsFitTogether) {
  for (const int P : {1, 2, 3, 8, 12})
    for (const int H : {1, 2, 3, 12})
      for (const Algorithm algorithm : kAlgorithms)
        for (const std::int64_t m : {1, 16, 17, 96, 4096}) {
          if (H > P) continue;
          const RankSimulation it =
              simulate(problem(m), P, SimulatedHosts{.num_hosts = H}, with(algorithm));
          const std::string where = std::to_string(P) + " ranks, " + std::to_string(H) +
                                    " hosts, " + std::string(algorithm_name(algorithm)) + ", m " +
                                    std::to_string(m);
          expect_consistent(it, where);
          // No law where products change which transfers meet on a link; on hosts they do not.
          EXPECT_GE(it.seconds, it.gather_seconds * (1 - 1e-12)) << where;
          EXPECT_LE(it.exposed_seconds, it.gather_seconds * (1 + 1e-9)) << where;
          EXPECT_EQ(it.algorithm, algorithm);
        }
}

TEST(Simulate, FiguresOfSlicesFitTogether) {
  for (const char* chip : {"v4", "v5e", "v6e", "7x"})
    for (const std::vector<int>& chips :
         {std::vector<int>{1}, {2}, {5}, {2, 4}, {4, 4}, {3, 3}, {16}})
      for (const Algorithm algorithm : kAlgorithms) {
        int P = 1;
        for (const int size : chips) P *= size;
        const RankSimulation it =
            simulate(problem(64 * P, 4096), P, slice(chip, chips), with(algorithm, 4));
        expect_consistent(it, std::string(chip) + ", " + std::to_string(P) + " chips, " +
                                  std::string(algorithm_name(algorithm)));
      }
}

TEST(Simulate, TakesOnHostsWhatAPlanChooses) {
  for (const int H : {1, 2, 8}) {
    std::vector<int> hosts;
    for (int rank = 0; rank < 8; ++rank) hosts.push_back(rank * H / 8);
    const GatherForecast plan = forecast_gather(problem(4096), {}, hosts);
    const RankSimulation it = simulate(problem(4096), 8, SimulatedHosts{.num_hosts = H});
    EXPECT_EQ(it.algorithm, plan.algorithm);
    EXPECT_EQ(it.pieces, plan.pieces);
    EXPECT_EQ(it.reason, plan.reason);
  }
}

// The formula of the plan counts rounds and bytes; the walk of a gather alone agrees with it but
// for the latencies that overlap and the one that ends the last chunk.
TEST(Simulate, GathersAsFastAsThePlansFormulaSays) {
  std::vector<int> hosts;
  for (int rank = 0; rank < 8; ++rank) hosts.push_back(rank / 2);
  for (const Algorithm algorithm :
       {Algorithm::kDirect, Algorithm::kHierarchical, Algorithm::kRing}) {
    Options options;
    options.algorithm = algorithm;
    const double formula = forecast_gather(problem(8192), options, hosts).link_seconds;
    const double walked =
        simulate(problem(8192), 8, SimulatedHosts{.num_hosts = 4}, with(algorithm)).gather_seconds;
    EXPECT_NEAR(walked, formula, 0.05 * formula) << algorithm_name(algorithm);
  }
}

TEST(Simulate, TakesOnASliceTheFastest) {
  const RankSimulation it = simulate(problem(4096, 256), 8, slice("v6e", {2, 4}));
  for (const Algorithm algorithm : kAlgorithms)
    EXPECT_LE(it.seconds,
              simulate(problem(4096, 256), 8, slice("v6e", {2, 4}), with(algorithm)).seconds);
  EXPECT_NE(it.reason.find("the fastest of those simulated: bidirectional "), std::string::npos);
}

TEST(Simulate, ARingNeedsNeighboursAndALineHasFew) {
  const auto gather = [](std::vector<int> chips) {
    return simulate(problem(4096), 8, slice("v6e", std::move(chips)),
                    with(Algorithm::kBidirectional, 4))
        .gather_seconds;
  };
  EXPECT_GT(gather({8}), 1.8 * gather({2, 4}));
}

TEST(Simulate, ReadsTheWeightsOncePerWave) {
  // 4 rows: gathered first, the weights are read once, at the memory's speed.
  const SimulatedHosts hosts{.num_hosts = 4, .rank_flops = 1e15, .memory_bytes_per_second = 1e9};
  const double read_seconds = 2048 * 512 * 2 / 1e9;
  EXPECT_DOUBLE_EQ(simulate(problem(4), 4, hosts).multiply_seconds, read_seconds);
  // 64 rows: own rows at once, the rest when it has come.
  EXPECT_DOUBLE_EQ(simulate(problem(64), 4, hosts).multiply_seconds, 2 * read_seconds);
  // All ranks of a host share its memory.
  SimulatedHosts shared = hosts;
  shared.num_hosts = 1;
  EXPECT_DOUBLE_EQ(simulate(problem(4), 4, shared).multiply_seconds, 4 * read_seconds);
}

TEST(Simulate, ShowsTheLastRankAndItsNeighbours) {
  SimulateOptions options = with(Algorithm::kRing, 2);
  EXPECT_TRUE(
      simulate(problem(96), 6, SimulatedHosts{.num_hosts = 6}, options).timeline.groups.empty());
  options.timeline = true;
  const RankSimulation it = simulate(problem(96), 6, SimulatedHosts{.num_hosts = 6}, options);
  EXPECT_EQ(it.num_walked, 1);
  ASSERT_EQ(it.timeline.groups.size(), 3u);
  const char* names[] = {"rank 5", "rank 0", "rank 1"};
  for (int i = 0; i < 3; ++i) {
    const TimelineGroup& group = it.timeline.groups[static_cast<std::size_t>(i)];
    EXPECT_EQ(group.name, names[i]);
    ASSERT_EQ(group.lanes.size(), 4u);
    EXPECT_EQ(group.lanes[1].spans.size(), 10u);  // 5 shards in 2 pieces
    EXPECT_EQ(group.lanes[2].spans.size(), 10u);
    double multiplied = 0, waited = 0;
    for (const TimelineSpan& span : group.lanes[0].spans)
      multiplied += span.end_seconds - span.begin_seconds;
    for (const TimelineSpan& span : group.lanes[3].spans)
      waited += span.end_seconds - span.begin_seconds;
    EXPECT_NEAR(multiplied, it.multiply_seconds, 1e-9 * it.seconds);
    EXPECT_NEAR(waited, it.exposed_seconds, 1e-9 * it.seconds);
  }
  // The first thing rank 1 receives is the first piece of rank 0, which rank 0 sends.
  EXPECT_EQ(it.timeline.groups[2].lanes[1].spans[0].text, "0.0 from rank 0");
  EXPECT_EQ(it.timeline.groups[1].lanes[2].spans[0].text, "0.0 to rank 1");
  EXPECT_EQ(it.timeline.groups[2].lanes[1].spans[0].kind, SpanKind::kForward);
}

TEST(Simulate, LateRanksAreShownWhereTheyAreNotAlike) {
  // Rank 2 has all rows to itself: the others wait for it.
  ProblemShape shape = problem(90);
  shape.rows = {0, 0, 90, 0};
  SimulateOptions options = with(Algorithm::kRing);
  options.timeline = true;
  const RankSimulation it = simulate(shape, 4, SimulatedHosts{.num_hosts = 4}, options);
  EXPECT_EQ(it.num_walked, 4);
  EXPECT_EQ(it.last_rank, 1);  // three hops away
  EXPECT_EQ(it.timeline.groups.at(1).name, "rank 1");
  EXPECT_GT(it.idle_upstream_seconds, 0);
}

std::string refusal(const ProblemShape& shape, int num_ranks, const SimulatedMachine& machine,
                    const SimulateOptions& options = {}) {
  try {
    simulate(shape, num_ranks, machine, options);
  } catch (const Error& error) {
    return std::string(error_code_name(error.code())) + ": " + error.what();
  }
  return "accepted";
}

TEST(SimulateErrors, NameTheValueAndWhatWouldBeRight) {
  const std::string wrong = std::string(error_code_name(ErrorCode::kInvalidArgument)) + ": ";
  const ProblemShape shape = problem(64);
  EXPECT_EQ(refusal(shape, 0, SimulatedHosts{}), wrong + "num_ranks is 0; it must be 1 to 4096");
  EXPECT_EQ(refusal(shape, 4, SimulatedHosts{.num_hosts = 5}),
            wrong + "num_hosts is 5; it must be 1 to the 4 ranks");
  EXPECT_EQ(refusal(shape, 4, SimulatedHosts{.rank_flops = 0}),
            wrong + "rank_flops is 0; it must be > 0");
  for (const Network& network :
       {Network{.bytes_per_second = 1e9,
       .latency_seconds = std::numeric_limits<double>::infinity()},
        Network{.bytes_per_second = std::numeric_limits<double>::infinity()},
        Network{.bytes_per_second = 1e9, .latency_seconds = -1}}) {
    EXPECT_NE(refusal(shape, 4, SimulatedHosts{.network = network}).find(wrong + "network of "),
              std::string::npos);
  }
  EXPECT_EQ(refusal(shape, 4, slice("v6e", {2, 3})),
            wrong + "slice 2x3 must have as many chips as there are ranks, 4");
  EXPECT_EQ(refusal(shape, 4, slice("v6e", {1, 2, 2})),
            wrong + "slice 1x2x2 has 3 axes, but the links of v6e make a torus of 2");
  ProblemShape half = shape;
  half.dtype = DType::kF16;
  EXPECT_EQ(refusal(half, 4, slice("v6e", {2, 2})),
            std::string(error_code_name(ErrorCode::kUnsupported)) +
                ": v6e does not multiply f16; take bf16");
  ProblemShape rows = shape;
  rows.rows = {64};
  EXPECT_EQ(refusal(rows, 2, SimulatedHosts{}), wrong + "rows has 1 entries; the axis has 2 ranks");
  const std::string large = refusal(problem(4097), 4096, SimulatedHosts{.num_hosts = 4096});
  EXPECT_NE(large.find("since the 4097 rows of x are not spread evenly over 4096 ranks"),
            std::string::npos)
      << large;
}

}  // namespace
}  // namespace cmm
