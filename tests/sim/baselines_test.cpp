// The reference kernel's schedule, the sequential one and the bound.
#include <gtest/gtest.h>

#include "sim/bound.hpp"
#include "sim/six_shapes.hpp"

namespace cmm::sim {
namespace {

constexpr double kMicro = 1e6;

// As an independent simulator of the same model found them, in microseconds.
TEST(ReferenceWalk, SixShapes) {
  const std::array<double, 6> expected = {127.0, 216.5, 201.2, 345.8, 349.1, 625.4};
  for (std::size_t i = 0; i < kSixShapes.size(); ++i) {
    const TileTimes times = walk_reference(reference_of(kSixShapes[i]));
    EXPECT_NEAR(times.seconds * kMicro, expected[i], 0.05) << i;
    EXPECT_NEAR(times.mxu_seconds + times.control_seconds + times.idle_x_seconds +
                    times.idle_y_seconds + times.idle_out_seconds + times.idle_other_seconds +
                    times.tail_seconds,
                times.seconds, 1e-12);
  }
}

TEST(Bound, SixShapes) {
  const std::array<std::array<double, 3>, 6> expected = {{{73, 53, 49},
                                                          {131, 85, 82},
                                                          {146, 106, 58},
                                                          {262, 169, 92},
                                                          {293, 211, 75},
                                                          {585, 423, 110}}};
  for (std::size_t i = 0; i < kSixShapes.size(); ++i) {
    const TileBound limit = bound(problem_of(kSixShapes[i]));
    EXPECT_NEAR(limit.mxu_seconds * kMicro, expected[i][0], 0.5) << i;
    EXPECT_NEAR(limit.link_seconds * kMicro, expected[i][1], 0.5) << i;
    EXPECT_NEAR(limit.hbm_seconds * kMicro, expected[i][2], 0.5) << i;
    EXPECT_EQ(limit.seconds(), limit.mxu_seconds) << i;
  }
}

TEST(Sequential, IsTheGatherAndThenTheProduct) {
  const TileProblem problem = problem_of(kSixShapes[2]);
  const Sequential apart = gather_then_multiply(problem);
  // Entry, and seven hops of 2.3 us and of 128 rows over a link.
  const double hop = 128.0 * 5120 * 2 / 86.8e9;
  EXPECT_NEAR(apart.gather_seconds, 4e-6 + 7 * (2.3e-6 + hop), 1e-12);
  EXPECT_EQ(apart.times.seconds, apart.gather_seconds + apart.product.times.seconds);
  EXPECT_EQ(verify(apart.product.schedule), "");
  EXPECT_GT(apart.product.times.seconds, bound(problem).mxu_seconds);

  const Sequential best = best_sequential(problem);
  EXPECT_LE(best.times.seconds, apart.times.seconds);
  EXPECT_GE(best.times.seconds, best.gather_seconds + bound(problem).mxu_seconds);
}

TEST(Sequential, OfOneDeviceIsTheProduct) {
  const TileProblem problem = tile_problem({.num_devices = 1, .m = 256, .k = 1024, .cols = {1024}});
  EXPECT_EQ(gather_then_multiply(problem).gather_seconds, 0);
  EXPECT_EQ(gather_then_multiply(problem).times.seconds, plan_tiles(problem).times.seconds);
}

}  // namespace
}  // namespace cmm::sim
