// Which ranks stand for each other.
#include "schedule/rotation.hpp"

#include <gtest/gtest.h>

#include "shapes.hpp"

namespace cmm::schedule {
namespace {

TEST(Receives, AreThoseOfTheWholeSchedule) {
  for (int P = 1; P <= 7; ++P)
    for (const Shape& shape : shapes(P, 3))
      for (int rank = 0; rank < P; ++rank)
        EXPECT_EQ(make_receives(shape, rank), make_rank_schedule(shape, rank).receives)
            << shape << ", rank " << rank;
}

TEST(Turned, IsTheTransferOfTheOtherRank) {
  const Shape shape{.algorithm = Algorithm::kRing, .num_ranks = 5, .num_pieces = 2};
  const Transfer t{
      .chunk = 9, .from = 4, .to = 0, .step = 2, .read_slot = 1, .write_slot = 2, .after = kNone};
  const Transfer expected{
      .chunk = 5, .from = 2, .to = 3, .step = 2, .read_slot = 1, .write_slot = 2, .after = kNone};
  EXPECT_EQ(turned(shape, t, 3), expected);
  EXPECT_EQ(turned(shape, t, 0), t);
  Transfer with_after = t;
  with_after.after = 3;
  EXPECT_EQ(turned(shape, with_after, 3).after, 9);
}

TEST(Turns, ByOneRankWhereAllRanksAreAlike) {
  for (int P = 1; P <= 9; ++P)
    for (const Shape& shape : shapes(P, 3)) {
      const bool alike = shape.algorithm != Algorithm::kHierarchical || shape.num_hosts == 1 ||
                         shape.num_hosts == P;
      EXPECT_EQ(turns(shape, 1), alike) << shape;
      EXPECT_TRUE(turns(shape, P)) << shape;
    }
}

TEST(Turns, ByAHostWhereHostsAreAlike) {
  for (const int P : {4, 6, 8, 12})
    for (const Shape& shape : shapes(P, 3))
      if (P % shape.num_hosts == 0) {
        EXPECT_TRUE(turns(shape, P / shape.num_hosts)) << shape;
      }
  // 3 + 3 + 2 ranks.
  const Shape uneven{.algorithm = Algorithm::kHierarchical, .num_ranks = 8, .num_hosts = 3};
  for (const int period : {1, 2, 4}) EXPECT_FALSE(turns(uneven, period)) << period;
}

}  // namespace
}  // namespace cmm::schedule
