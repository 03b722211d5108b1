// The ring on slices of chips: against a search for the best ring on small grids.
#include "api/tpu_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "cmm/tpu_simulate.hpp"
#include "support/text_of_error.hpp"

namespace cmm::tpu {
namespace {

Chip small_torus() {
  Chip chip;
  chip.name = "chip";
  chip.torus_dims = 3;
  chip.wrap_multiple = 4;
  chip.link_bytes_per_second = 80e9;
  chip.hop_seconds = 2e-6;
  chip.mxu_rate = {1, 1, 0, 2, 0};
  return chip;
}

// Whether some cycle visits all chips of a grid from neighbour to neighbour.
class RingSearch {
 public:
  RingSearch(std::vector<int> slice, int wrap_multiple)
      : slice_(std::move(slice)), wrap_multiple_(wrap_multiple) {
    num_ = std::accumulate(slice_.begin(), slice_.end(), 1, std::multiplies<>());
    seen_.resize(static_cast<std::size_t>(num_));
  }
  bool found() { return visit(0, 1); }

 private:
  bool linked(int a, int b) const {
    int differing = 0;
    bool near = false;
    for (auto size = slice_.rbegin(); size != slice_.rend(); ++size) {
      const int at = a % *size, bt = b % *size, gap = std::abs(at - bt);
      a /= *size;
      b /= *size;
      if (gap == 0) continue;
      ++differing;
      near = gap == 1 || (gap == *size - 1 && *size > 2 && *size % wrap_multiple_ == 0);
    }
    return differing == 1 && near;
  }
  bool visit(int at, int count) {
    if (count == num_) return linked(at, 0);
    seen_[static_cast<std::size_t>(at)] = true;
    for (int next = 1; next < num_; ++next) {
      if (!seen_[static_cast<std::size_t>(next)] && linked(at, next) && visit(next, count + 1)) {
        return true;
      }
    }
    seen_[static_cast<std::size_t>(at)] = false;
    return false;
  }

  std::vector<int> slice_;
  int wrap_multiple_;
  int num_ = 1;
  std::vector<bool> seen_;
};

TEST(TpuMachine, SendsFromNeighbourToNeighbourWhereARingCan) {
  const Chip chip = small_torus();
  for (const std::vector<int>& slice : std::vector<std::vector<int>>{{3},
                                                                     {4},
                                                                     {5},
                                                                     {8},
                                                                     {1, 6},
                                                                     {2, 2},
                                                                     {2, 3},
                                                                     {2, 4},
                                                                     {3, 3},
                                                                     {3, 4},
                                                                     {4, 4},
                                                                     {3, 5},
                                                                     {4, 5},
                                                                     {2, 2, 2},
                                                                     {3, 3, 1},
                                                                     {2, 3, 3},

                                                                     {1, 1, 7},
                                                                     {1, 2, 4}}) {
    const RingOnSlice ring = ring_on_slice(chip, slice);
    EXPECT_EQ(ring.links_per_hop == 1, RingSearch(slice, chip.wrap_multiple).found())
        << testing::PrintToString(slice);
    EXPECT_EQ(ring.links_per_hop, ring.hops_per_link) << testing::PrintToString(slice);
  }
}

TEST(TpuMachine, SharesTheOneLinkOfTwoDevices) {
  const RingOnSlice ring = ring_on_slice(small_torus(), {1, 1, 2});
  EXPECT_EQ(ring.links_per_hop, 1);
  EXPECT_EQ(ring.hops_per_link, 2);
}

TEST(TpuMachine, IsSlowerOnALine) {
  Problem problem;
  problem.mesh = {2, 6};
  problem.axis = 1;
  const Chip chip = small_torus();
  const sim::TileMachine square = ring_machine(problem, chip, {});
  EXPECT_EQ(square.link_bytes_per_second, 80e9);
  EXPECT_EQ(square.hop_seconds, 2e-6);
  const sim::TileMachine line = ring_machine(problem, chip, {.slice = {6}});
  EXPECT_EQ(line.link_bytes_per_second, 40e9);
  EXPECT_EQ(line.hop_seconds, 4e-6);
}

TEST(TpuMachine, RefusesASliceThatDoesNotHoldTheRing) {
  Problem problem;
  const Chip chip = small_torus();
  const auto refusal = [&](std::vector<int> slice) {
    return test::text_of_error([&] { ring_machine(problem, chip, {.slice = slice}); });
  };
  EXPECT_EQ(refusal({2, 2, 2}), "");
  EXPECT_EQ(refusal({2, 5}),
            "slice 2x5 must have as many chips as the ring has devices, 8, as 2x2x2");
  EXPECT_NE(refusal({0, 8}), "");
  EXPECT_NE(refusal({1, 1, 2, 4}).find("4 axes"), std::string::npos);
  problem.element = Element::kF8E4M3;
  EXPECT_EQ(refusal({2, 2, 2}), "chip does not multiply fp8");
}

TEST(TpuMachine, UsualSlicesHaveAllDevices) {
  for (int dims = 1; dims <= 3; ++dims) {
    Chip chip = small_torus();
    chip.torus_dims = dims;
    for (int devices = 1; devices <= 300; ++devices) {
      const std::vector<int> slice = usual_slice(chip, devices);
      EXPECT_EQ(static_cast<int>(slice.size()), dims);
      EXPECT_EQ(std::accumulate(slice.begin(), slice.end(), 1, std::multiplies<>()), devices);
    }
  }
  Chip chip = small_torus();
  EXPECT_EQ(usual_slice(chip, 64), (std::vector<int>{4, 4, 4}));
  EXPECT_EQ(usual_slice(chip, 16), (std::vector<int>{2, 2, 4}));
  chip.torus_dims = 2;
  EXPECT_EQ(usual_slice(chip, 8), (std::vector<int>{2, 4}));
}

TEST(TpuMachine, SharesColumnsBetweenTheCoresOfADevice) {
  Problem problem;
  problem.mesh = {4};
  problem.n = {1000, 404};
  Chip chip = small_torus();
  chip.cores_per_device = 2;
  EXPECT_EQ(problem_of_core(problem, chip).n, (std::vector<std::int64_t>{500, 204}));
  chip.cores_per_device = 1;
  EXPECT_EQ(problem_of_core(problem, chip).n, problem.n);
}

}  // namespace
}  // namespace cmm::tpu
