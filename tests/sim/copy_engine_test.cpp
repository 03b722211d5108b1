// Shares of HBM and links, worked out by hand.
#include "sim/copy_engine.hpp"

#include <gtest/gtest.h>

namespace cmm::sim {
namespace {

constexpr EngineRates kRates = {.hbm_bytes_per_second = 100, .link_bytes_per_second = 10};

TEST(CopyEngine, OneCopyDrawsAllThatIsFree) {
  CopyEngine engine(kRates);
  const int copy = engine.start({.bytes = 1000, .hbm_ends = 1, .latency_seconds = 2});
  engine.wait(copy);
  EXPECT_DOUBLE_EQ(engine.now(), 12);
  EXPECT_DOUBLE_EQ(engine.begin_seconds(copy), 2);
  EXPECT_DOUBLE_EQ(engine.hbm_bytes(), 1000);
}

TEST(CopyEngine, ACapHoldsForEachCopy) {
  CopyEngine engine({.hbm_bytes_per_second = 100, .copy_bytes_per_second = 40});
  const int one = engine.start({.bytes = 1000, .hbm_ends = 1});
  engine.wait(one);
  EXPECT_DOUBLE_EQ(engine.now(), 25);
}

// Two ends take twice the rate: 3 r = 100 until the shorter has ended.
TEST(CopyEngine, EndsInHbmShareEvenly) {
  CopyEngine engine(kRates);
  const int twice = engine.start({.bytes = 1000, .hbm_ends = 2});
  const int once = engine.start({.bytes = 2000, .hbm_ends = 1});
  engine.wait(twice);
  EXPECT_NEAR(engine.now(), 30, 1e-9);
  engine.wait(once);
  EXPECT_NEAR(engine.now(), 40, 1e-9);  // 1000 were left
}

// What a link keeps slow leaves HBM to others.
TEST(CopyEngine, FairnessIsMaxMin) {
  CopyEngine engine(kRates);
  const int a = engine.start({.bytes = 50, .hbm_ends = 1, .link = Link::kForward});
  const int b = engine.start({.bytes = 50, .hbm_ends = 1, .link = Link::kForward});
  const int fast = engine.start({.bytes = 900, .hbm_ends = 1});
  engine.wait(fast);
  EXPECT_NEAR(engine.now(), 10, 1e-9);
  EXPECT_TRUE(engine.is_done(a));
  EXPECT_TRUE(engine.is_done(b));
  EXPECT_NEAR(engine.link_seconds(Link::kForward), 10, 1e-9);
  EXPECT_EQ(engine.link_seconds(Link::kBackward), 0);
}

// And what HBM keeps slow leaves the link to others: the copy from VMEM gets what the other cannot
// take.
TEST(CopyEngine, ALinkGivesWhatOthersCannotTake) {
  CopyEngine engine({.hbm_bytes_per_second = 2, .link_bytes_per_second = 10});
  engine.start({.bytes = 100, .hbm_ends = 1, .link = Link::kForward});
  const int from_vmem = engine.start({.bytes = 80, .link = Link::kForward});
  engine.wait(from_vmem);
  EXPECT_NEAR(engine.now(), 10, 1e-9);
}

TEST(CopyEngine, DirectionsAreApart) {
  CopyEngine engine(kRates);
  engine.start({.bytes = 100, .link = Link::kForward});
  const int back = engine.start({.bytes = 100, .link = Link::kBackward});
  engine.wait(back);
  EXPECT_NEAR(engine.now(), 10, 1e-9);
}

TEST(CopyEngine, LatenciesOverlap) {
  CopyEngine engine(kRates);
  const int a = engine.start({.bytes = 100, .link = Link::kForward, .latency_seconds = 5});
  const int b = engine.start({.bytes = 100, .link = Link::kForward, .latency_seconds = 5});
  engine.wait(a);
  engine.wait(b);
  EXPECT_NEAR(engine.now(), 25, 1e-9);
}

TEST(CopyEngine, TimeStopsAtEndsAndWhereAsked) {
  CopyEngine engine(kRates);
  engine.start({.bytes = 100, .hbm_ends = 1});
  engine.advance_to(0.5);
  EXPECT_DOUBLE_EQ(engine.now(), 0.5);
  EXPECT_TRUE(engine.advance_to_next_end());
  EXPECT_NEAR(engine.now(), 1, 1e-12);
  EXPECT_FALSE(engine.advance_to_next_end());
  engine.advance_to(7);
  EXPECT_EQ(engine.now(), 7);
}

// Every event begins or ends a copy, however large the times are: rounding of the clock is then
// more than a copy takes, and what is left of its bytes never comes down to nothing by itself.
TEST(CopyEngine, EndsWhereTheClockRoundsMoreThanACopyTakes) {
  CopyEngine engine(kRates);
  engine.advance_to(1e15);
  const int small = engine.start({.bytes = 3, .hbm_ends = 1, .latency_seconds = 0.3});
  const int large = engine.start({.bytes = 1e17, .hbm_ends = 1, .link = Link::kForward});
  engine.wait(small);
  EXPECT_LE(engine.now(), 1e15 + 2);
  engine.wait(large);
  EXPECT_NEAR(engine.now(), 1.1e16, 10);
}

// The same copies on a machine of any speed take the same time in its own unit.
TEST(CopyEngine, SpeedIsNoMoreThanAUnitOfTime) {
  const auto seconds = [](double slower) {
    CopyEngine engine(
        {.hbm_bytes_per_second = 1.64e12 / slower, .link_bytes_per_second = 8.68e10 / slower});
    for (int round = 0; round < 1000; ++round) {
      const int x = engine.start({.bytes = 1e4 + round,
                                  .hbm_ends = 1,
                                  .link = round % 2 == 0 ? Link::kForward : Link::kBackward,
                                  .latency_seconds = 1e-6 * slower});
      engine.start({.bytes = 3e5 - round, .hbm_ends = 1, .latency_seconds = 1e-6 * slower});
      if (round % 3 == 0) engine.wait(x);
    }
    while (engine.advance_to_next_end()) continue;
    return engine.now() / slower;
  };
  const double usual = seconds(1);
  for (const double slower : {1e-6, 1e3, 1e6, 1e9, 1e12})
    EXPECT_NEAR(seconds(slower) / usual, 1, 1e-9) << slower;
}

}  // namespace
}  // namespace cmm::sim
