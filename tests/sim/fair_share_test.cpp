// Rates over shared links.
#include "sim/fair_share.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "sim/flows.hpp"

namespace cmm::sim {
namespace {

std::vector<int> all_of(const std::vector<FlowPath>& paths) {
  std::vector<int> all(paths.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(FairShare, FillsLinksOneAfterTheOther) {
  // a: links 0 and 1; two flows b: link 0 alone; c: link 1 alone.
  std::vector<FlowPath> paths = {{{{0, 1}, {1, 1}}, 1, 0}, {{{0, 1}}, 2, 0}, {{{1, 1}}, 1, 0}};
  FairShare share({3, 10});
  share.set_rates(paths, all_of(paths));
  EXPECT_EQ(paths[0].rate, 1);
  EXPECT_EQ(paths[1].rate, 1);
  EXPECT_EQ(paths[2].rate, 9);  // what a cannot use
}

TEST(FairShare, CountsALinkThatIsCrossedTwiceTwice) {
  std::vector<FlowPath> paths = {{{{0, 2}}, 3, 0}, {{{0, 1}}, 2, 0}};
  FairShare share({16});
  share.set_rates(paths, all_of(paths));
  EXPECT_EQ(paths[0].rate, 2);
  EXPECT_EQ(paths[1].rate, 2);
}

// Max-min fair: no link is over its rate, and every flow has a full link on which none is faster.
TEST(FairShare, IsMaxMinFairInWhateverOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const int num_links = 1 + static_cast<int>(random() % 6);
    std::vector<double> rates;
    for (int i = 0; i < num_links; ++i) rates.push_back(static_cast<double>(1 + random() % 9));
    std::vector<FlowPath> paths(1 + random() % 8);
    for (FlowPath& path : paths) {
      path.num_flows = 1 + static_cast<int>(random() % 3);
      for (int link = 0; link < num_links; ++link)
        if (random() % 2 == 0) path.crossings.push_back({link, 1 + static_cast<int>(random() % 2)});
      if (path.crossings.empty()) path.crossings.push_back({0, 1});
    }
    FairShare share(rates);
    std::vector<int> order = all_of(paths);
    share.set_rates(paths, order);
    std::vector<double> used(rates.size(), 0);
    for (const FlowPath& path : paths)
      for (const Crossing& c : path.crossings)
        used[c.link] += path.rate * path.num_flows * c.weight;
    for (int link = 0; link < num_links; ++link) EXPECT_LE(used[link], rates[link] * (1 + 1e-12));
    for (const FlowPath& path : paths)
      EXPECT_TRUE(std::ranges::any_of(path.crossings, [&](const Crossing& c) {
        if (used[c.link] < rates[c.link] * (1 - 1e-12)) return false;
        return std::ranges::none_of(paths, [&](const FlowPath& other) {
          const auto crosses = [&](const Crossing& o) { return o.link == c.link; };
          return other.rate > path.rate * (1 + 1e-12) &&
                 std::ranges::any_of(other.crossings, crosses);
        });
      }));
    std::vector<FlowPath> again = paths;
    std::ranges::shuffle(order, random);
    share.set_rates(again, order);
    for (std::size_t i = 0; i < paths.size(); ++i) EXPECT_EQ(again[i].rate, paths[i].rate);
  }
}

TEST(Flows, EndWhenTheirBytesAreThrough) {
  Flows flows({10});
  const int path = flows.path({{0, 1}});
  EXPECT_EQ(flows.path({{0, 1}}), path);
  flows.start(0, path, 10);
  flows.start(1, path, 30);
  EXPECT_EQ(flows.settle(0), 2);  // 5 bytes per second each
  std::vector<int> ended;
  flows.move(0, 1, ended);
  EXPECT_TRUE(ended.empty());
  flows.start(2, path, 5);
  EXPECT_DOUBLE_EQ(flows.settle(1), 2.5);  // a third each; 0 and 2 have 5 bytes left
  flows.move(1, 2.5, ended);
  EXPECT_EQ(ended, (std::vector<int>{0, 2}));
  EXPECT_DOUBLE_EQ(flows.settle(2.5), 4.5);
  flows.move(2.5, flows.settle(2.5), ended);
  EXPECT_EQ(ended.back(), 1);
  EXPECT_EQ(flows.settle(4.5), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace cmm::sim
