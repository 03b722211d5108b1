// Properties of every schedule over all coordinates. No rank is started and nothing is timed.
#include "schedule/schedule.hpp"

#include <gtest/gtest.h>

#include "schedule/replay.hpp"
#include "schedule/shapes.hpp"
#include "schedule/verify.hpp"

namespace cmm::schedule {
namespace {

TEST(Schedule, HoldsWithTheSlotsItAsksForAndMore) {
  for (Shape shape : all_shapes()) {
    const int least = min_slots(shape), all = received_chunks(shape);
    for (const int num_slots : std::set<int>{0, least, least + 1, all - 1, all, all + 1}) {
      if (num_slots < least && num_slots != 0) continue;
      shape.num_slots = num_slots;
      const Verdict verdict = verify(shape);
      EXPECT_TRUE(verdict.ok()) << shape << ": " << verdict.violations.front();
    }
  }
}

TEST(Schedule, DeadlocksWithFewerSlotsWhenPulled) {
  for (Shape shape : all_shapes())
    for (shape.num_slots = min_slots(shape) - 1; shape.num_slots > 0; --shape.num_slots) {
      if (shape.algorithm == Algorithm::kHierarchical && shape.num_slots < 2) continue;
      const Replay result = replay(shape, make_all(shape), Walk::kPull);
      EXPECT_FALSE(result.completed) << shape;
      EXPECT_TRUE(result.violations.empty()) << shape << ": " << result.violations.front();
    }
}

TEST(Schedule, EveryChunkKeepsItsSlotWhereThereIsOneForEach) {
  for (Shape shape : all_shapes()) {
    shape.num_slots = received_chunks(shape);
    for (const RankSchedule& schedule : make_all(shape)) {
      std::set<int> slots;
      for (const Transfer& t : schedule.receives) {
        slots.insert(t.write_slot);
        EXPECT_EQ(t.after, kNone) << shape;
      }
      EXPECT_EQ(slots.size(), schedule.receives.size()) << shape;
    }
  }
}

}  // namespace
}  // namespace cmm::schedule
