#include "schedule/replay.hpp"

#include <gtest/gtest.h>

#include "schedule/shapes.hpp"

namespace cmm::schedule {
namespace {

const Shape kDirect3{.algorithm = Algorithm::kDirect, .num_ranks = 3, .num_slots = 1};

TEST(Replay, WalksTheReceivesWhenPulledAndTheSendsWhenPushed) {
  std::vector<RankSchedule> schedules = make_all(kDirect3);
  for (RankSchedule& s : schedules) std::swap(s.receives[0], s.receives[1]);
  // Each rank first asks for what must wait for its other receive.
  EXPECT_FALSE(replay(kDirect3, schedules, Walk::kPull).completed);
  EXPECT_TRUE(replay(kDirect3, schedules, Walk::kPush).completed);

  schedules = make_all(kDirect3);
  for (RankSchedule& s : schedules) std::swap(s.sends[0], s.sends[1]);
  EXPECT_TRUE(replay(kDirect3, schedules, Walk::kPull).completed);
  EXPECT_FALSE(replay(kDirect3, schedules, Walk::kPush).completed);
}

TEST(Replay, SaysWhoWaitsForWhat) {
  std::vector<RankSchedule> schedules = make_all(kDirect3);
  std::swap(schedules[0].receives[0], schedules[0].receives[1]);
  const Replay result = replay(kDirect3, schedules, Walk::kPull);
  EXPECT_EQ(result.stalled, std::vector<std::string>{"pull of chunk 2 from rank 2 to rank 0 at "
                                                     "step 2 stalls: slot 0 still holds chunk 1"});

  const Shape ring{.algorithm = Algorithm::kRing, .num_ranks = 3};
  schedules = make_all(ring);
  schedules[1].receives.clear();  // so rank 1 cannot pass shard 0 on to rank 2
  EXPECT_EQ(replay(ring, schedules, Walk::kPull).stalled,
            std::vector<std::string>{
                "pull of chunk 0 from rank 1 to rank 2 at step 2 stalls: rank 1 lacks the chunk"});
}

// One slot, one chunk each from ranks 1 and 2 into rank 0, nothing else.
std::vector<RankSchedule> two_into_one_slot(int after) {
  const Transfer first{.chunk = 1, .from = 1, .to = 0, .step = 1, .write_slot = 0};
  const Transfer second{.chunk = 2, .from = 2, .to = 0, .step = 2, .write_slot = 0, .after = after};
  return {{0, 1, {first, second}, {}, {}}, {1, 0, {}, {first}, {}}, {2, 0, {}, {second}, {}}};
}

TEST(Replay, MultipliesOnlyWhenAskedTo) {
  Replay result = replay(kDirect3, two_into_one_slot(1), Walk::kPull);
  EXPECT_TRUE(result.completed);
  EXPECT_TRUE(result.violations.empty());

  result = replay(kDirect3, two_into_one_slot(kNone), Walk::kPull);
  EXPECT_TRUE(result.completed);
  EXPECT_EQ(result.violations,
            std::vector<std::string>{"chunk 2 overwrites chunk 1 in slot 0 of rank 0 before its "
                                     "last read"});

  result = replay(kDirect3, two_into_one_slot(0), Walk::kPull);  // own: says nothing of the slot
  EXPECT_TRUE(result.completed);
  EXPECT_EQ(result.violations.size(), 1U);
}

TEST(Replay, KeepsASlotUntilItsChunkIsForwarded) {
  // As before, but rank 0 has to pass chunk 1 on to rank 2 after it has got chunk 2.
  std::vector<RankSchedule> schedules = two_into_one_slot(1);
  const Transfer forward{
      .chunk = 1, .from = 0, .to = 2, .step = 3, .read_slot = 0, .write_slot = 0};
  schedules[0].sends = {forward};
  schedules[2].receives = {forward};
  schedules[2].num_slots = 1;
  EXPECT_TRUE(replay(kDirect3, schedules, Walk::kPull).completed);  // rank 2 is free to take it
  schedules[0].sends.push_back(forward);  // a second time: nobody takes it
  const Replay result = replay(kDirect3, schedules, Walk::kPull);
  EXPECT_FALSE(result.completed);
  EXPECT_TRUE(result.violations.empty());

  // Without the wait chunk 1 is gone before it is forwarded.
  Transfer to_other_slot = forward;
  to_other_slot.write_slot = 1;
  schedules = two_into_one_slot(kNone);
  schedules[0].sends = {to_other_slot};
  schedules[2].receives = {to_other_slot};
  schedules[2].num_slots = 2;
  EXPECT_EQ(replay(kDirect3, schedules, Walk::kPull).violations.back(),
            "rank 0 sends chunk 1 to rank 2 from slot 0, which holds chunk 2");
}

}  // namespace
}  // namespace cmm::schedule
