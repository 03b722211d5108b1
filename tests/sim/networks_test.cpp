// Hosts with cables, slices with links.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "sim/host_network.hpp"
#include "sim/slice_network.hpp"

namespace cmm::sim {
namespace {

std::vector<std::string> names_on(const Network& network, int from, int to) {
  Route route;
  network.find_route(from, to, route);
  std::vector<std::string> names;
  for (const int link : route.links) names.push_back(network.links().at(link).name);
  return names;
}

TEST(HostNetwork, GoesOutOfOneHostAndIntoTheOther) {
  const HostNetwork network({.num_ranks = 5,
                             .num_hosts = 2,
                             .link_bytes_per_second = 100,
                             .link_seconds = 3,
                             .memory_bytes_per_second = 1000,
                             .look_seconds = 0.5,
                             .reads_in_place = true});
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_on(network, 2, 3), (Names{"out of host 0", "into host 1"}));
  EXPECT_EQ(names_on(network, 0, 2), (Names{"memory of host 0", "memory of host 0"}));
  EXPECT_EQ(network.seconds_to_look(0, 2), 0.5);
  EXPECT_LT(network.seconds_to_look(2, 3), 0);
  EXPECT_EQ(network.period(), 5);  // 3 and 2 ranks
  ASSERT_EQ(network.sites().size(), 2u);
  EXPECT_EQ(network.sites()[1].first_rank, 3);
  EXPECT_EQ(network.sites()[1].num_ranks, 2);
  EXPECT_EQ(network.sites()[1].bytes_per_second_in, 100);
  EXPECT_EQ(HostNetwork({.num_ranks = 6, .num_hosts = 3}).period(), 2);
  EXPECT_EQ(HostNetwork({.num_ranks = 6}).period(), 1);
  EXPECT_TRUE(HostNetwork({.num_ranks = 6}).sites().empty());
}

SliceMachine slice(std::vector<int> chips, std::vector<bool> wraps = {}) {
  wraps.resize(chips.size());
  return {std::move(chips), std::move(wraps), 1e9, 1e-6};
}

// Every slice of up to three axes of up to six chips, with and without wrap-around.
std::vector<SliceMachine> all_slices() {
  std::vector<SliceMachine> all;
  for (int a = 1; a <= 6; ++a) {
    for (const bool wrap : {false, true}) {
      all.push_back(slice({a}, {wrap}));
      for (int b = 1; b <= 5; ++b) {
        all.push_back(slice({a, b}, {wrap, false}));
        all.push_back(slice({a, b}, {wrap, true}));
        for (int c = 1; c <= 4; ++c) all.push_back(slice({a, b, c}, {wrap, false, true}));
      }
    }
  }
  return all;
}

TEST(SliceNetwork, RingVisitsEveryChipAndItsHopsAreShort) {
  for (const SliceMachine& machine : all_slices()) {
    const SliceNetwork network(machine);
    const int P = network.num_ranks();
    const std::set<int> chips(network.chip_of_rank().begin(), network.chip_of_rank().end());
    EXPECT_EQ(static_cast<int>(chips.size()), P);
    EXPECT_EQ(*chips.begin(), 0);
    EXPECT_EQ(*chips.rbegin(), P - 1);
    const int num_long_axes =
        static_cast<int>(std::ranges::count_if(machine.chips, [](int size) { return size > 1; }));
    bool wraps = false;
    for (std::size_t axis = 0; axis < machine.chips.size(); ++axis)
      wraps = wraps || (machine.wraps[axis] && machine.chips[axis] > 2);
    const bool closes = P <= 2 || wraps || (num_long_axes > 1 && P % 2 == 0);
    std::multiset<std::string> forward;
    for (int rank = 0; P > 1 && rank < P; ++rank) {
      const auto names = names_on(network, rank, (rank + 1) % P);
      EXPECT_LE(static_cast<int>(names.size()), closes ? 1 : 2);
      forward.insert(names.begin(), names.end());
    }
    // No two hops forward share a link in one direction, but for folded rings none has to.
    for (const std::string& name : forward) EXPECT_EQ(forward.count(name), 1u) << name;
  }
}

TEST(SliceNetwork, RoutesAreShortestAndJoined) {
  for (const SliceMachine& machine : all_slices()) {
    const SliceNetwork network(machine);
    const int P = network.num_ranks();
    for (int from = 0; from < P; ++from)
      for (int to = 0; to < P; ++to) {
        if (from == to) continue;
        int distance = 0;
        int a = network.chip_of_rank()[from], b = network.chip_of_rank()[to];
        for (std::size_t axis = machine.chips.size(); axis-- > 0;) {
          const int size = machine.chips[axis];
          const int apart = std::abs(a % size - b % size);
          distance += machine.wraps[axis] ? std::min(apart, size - apart) : apart;
          a /= size;
          b /= size;
        }
        const std::vector<std::string> names = names_on(network, from, to);
        EXPECT_EQ(static_cast<int>(names.size()), distance);
        std::string at = std::to_string(from);
        for (const std::string& name : names) {
          EXPECT_EQ(name.rfind("from rank " + at + " to rank ", 0), 0u) << name;
          at = name.substr(name.rfind(' ') + 1);
        }
        EXPECT_EQ(at, std::to_string(to));
      }
  }
}

TEST(SliceNetwork, LinksAreThoseOfATorusOrGrid) {
  EXPECT_EQ(SliceNetwork(slice({4, 4}, {true, true})).links().size(), 64u);
  EXPECT_EQ(SliceNetwork(slice({4, 4})).links().size(), 48u);
  EXPECT_EQ(SliceNetwork(slice({2}, {true})).links().size(), 2u);
  EXPECT_EQ(SliceNetwork(slice({2, 4})).sites()[0].bytes_per_second_in, 2e9);  // a corner
}

}  // namespace
}  // namespace cmm::sim
