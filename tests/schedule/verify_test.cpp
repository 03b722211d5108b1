// Schedules that are wrong in one way each, and what the verifier says to them.
#include "schedule/verify.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "cmm/error.hpp"
#include "schedule/shapes.hpp"

namespace cmm::schedule {
namespace {

using Schedules = std::vector<RankSchedule>;

const Shape kRing{.algorithm = Algorithm::kRing, .num_ranks = 4};

testing::AssertionResult complains(const Shape& shape, const Schedules& schedules,
                                   const std::string& text) {
  const Verdict verdict = verify(shape, schedules);
  std::string all;
  for (const std::string& violation : verdict.violations) {
    if (violation.find(text) != std::string::npos) return testing::AssertionSuccess();
    all += "\n  " + violation;
  }
  return testing::AssertionFailure() << "nothing says \"" << text << "\", but:" << all;
}

testing::AssertionResult complains(const Schedules& schedules, const std::string& text) {
  return complains(kRing, schedules, text);
}

// Changes a transfer wherever it stands: in rank `to`'s receives and in its sender's sends.
void edit(Schedules& schedules, int to, int index, const std::function<void(Transfer&)>& change) {
  const Transfer old = schedules[to].receives[index];
  for (RankSchedule& s : schedules)
    for (std::vector<Transfer>* list : {&s.receives, &s.sends})
      for (Transfer& t : *list)
        if (t == old) change(t);
}

TEST(Verify, AcceptsTheSchedulesAsTheyAre) {
  EXPECT_TRUE(verify(kRing).ok());
  EXPECT_TRUE(verify(kRing, make_all(kRing)).ok());
}

TEST(Verify, RefusesAShapeThatCannotBe) {
  EXPECT_THROW(verify({.num_ranks = 0}), Error);
  EXPECT_THROW(verify({.num_ranks = 0}, {}), Error);
}

TEST(Verify, WantsOneScheduleOfEachRank) {
  Schedules schedules = make_all(kRing);
  std::swap(schedules[1], schedules[2]);
  EXPECT_TRUE(complains(schedules, "schedule 1 is of rank 2"));
  schedules.pop_back();
  EXPECT_TRUE(complains(schedules, "there are 3 schedules for 4 ranks"));
}

TEST(Verify, HoldsASlotCountToWhatWasAskedFor) {
  Shape shape = kRing;
  shape.num_slots = 2;
  Schedules schedules = make_all(shape);
  EXPECT_TRUE(verify(shape, schedules).ok());
  schedules[1].num_slots = 3;
  EXPECT_TRUE(complains(shape, schedules, "rank 1 asks for 3 slots"));
  EXPECT_TRUE(verify(kRing, schedules).ok());  // nothing was asked for
  const Shape single{.algorithm = Algorithm::kDirect, .num_ranks = 4, .num_slots = 1};
  Schedules of_single = make_all(single);
  of_single[1].num_slots = 2;
  EXPECT_TRUE(complains(single, of_single, "rank 1 asks for 2 slots"));
  schedules[1].num_slots = -1;
  EXPECT_TRUE(complains(kRing, schedules, "rank 1 asks for -1 slots"));
}

struct FieldRange {
  const char* what;
  int Transfer::*field;
  int below, above;
};

TEST(Verify, ChecksEachNumberOfATransfer) {
  const int num_slots = default_slots(kRing);
  const FieldRange fields[] = {
      {"is out of range", &Transfer::chunk, -1, 4},
      {"is out of range", &Transfer::from, -1, 4},
      {"is out of range", &Transfer::to, -1, 4},
      {"lands in slot", &Transfer::write_slot, -1, num_slots},
      {"is read from slot", &Transfer::read_slot, -2, num_slots},
      {"waits for chunk", &Transfer::after, -2, 4},
  };
  for (const FieldRange& range : fields)
    for (const int value : {range.below, range.above})
      for (const bool in_receives : {true, false})
        for (const int rank : {0, 3}) {
          Schedules schedules = make_all(kRing);
          (in_receives ? schedules[rank].receives : schedules[rank].sends)[1].*range.field = value;
          EXPECT_TRUE(complains(schedules, range.what)) << value << " " << in_receives;
        }
}

TEST(Verify, ChecksSlotsWithThoseOfTheRankTheyBelongTo) {
  Schedules schedules = make_all(kRing);
  schedules[2].num_slots = 1;
  EXPECT_TRUE(complains(schedules, "to rank 2 at step 2 lands in slot 1 of 1"));
  EXPECT_TRUE(complains(schedules, "from rank 2 to rank 3 at step 3 is read from slot 1 of 1"));
  EXPECT_FALSE(complains(schedules, "to rank 3 at step 2 lands"));
  EXPECT_FALSE(complains(schedules, "from rank 1 to rank 2 at step 3 is read"));
}

TEST(Verify, WantsStepsFromOneAndTransfersThatMove) {
  Schedules schedules = make_all(kRing);
  edit(schedules, 1, 0, [](Transfer& t) { t.step = 0; });
  EXPECT_TRUE(complains(schedules, "steps count from 1"));

  schedules = make_all(kRing);
  schedules[1].receives[0].from = 1;
  EXPECT_TRUE(complains(schedules, "stays where it is"));
}

TEST(Verify, WantsTransfersInTheListsOfTheirRanks) {
  Schedules schedules = make_all(kRing);
  std::swap(schedules[1].receives, schedules[2].receives);
  EXPECT_TRUE(complains(schedules, "rank 1 receives chunk 1 from rank 1 to rank 2 at step 1"));
  schedules = make_all(kRing);
  std::swap(schedules[1].sends, schedules[2].sends);
  EXPECT_TRUE(complains(schedules, "rank 1 sends chunk 2 from rank 2 to rank 3 at step 1"));
}

TEST(Verify, ComparesSendsWithReceives) {
  for (int Transfer::*field : {&Transfer::chunk, &Transfer::step, &Transfer::read_slot,
                               &Transfer::write_slot, &Transfer::after}) {
    Schedules schedules = make_all(kRing);
    schedules[3].sends[1].*field += 1;
    EXPECT_TRUE(complains(schedules, "is not the same in"));
  }
  const Shape direct{.algorithm = Algorithm::kDirect, .num_ranks = 4};
  for (int Transfer::*field : {&Transfer::from, &Transfer::to}) {
    Schedules schedules = make_all(direct);
    Transfer& t = (field == &Transfer::to ? schedules[3].sends : schedules[3].receives)[1];
    t.*field = (t.*field + 2) % 4 == 3 ? 0 : (t.*field + 2) % 4;
    EXPECT_TRUE(complains(direct, schedules, "is not the same in"));
  }
  Schedules schedules = make_all(kRing);
  schedules[3].sends.pop_back();
  EXPECT_TRUE(complains(schedules, "is not the same in"));
}

TEST(Verify, WantsTheOrderOfTheSteps) {
  Schedules schedules = make_all(kRing);
  std::swap(schedules[1].receives[0], schedules[1].receives[1]);
  EXPECT_TRUE(complains(schedules, "a list of rank 1 is not in the order of the steps"));
  schedules = make_all(kRing);
  std::swap(schedules[2].sends[0], schedules[2].sends[1]);
  EXPECT_TRUE(complains(schedules, "a list of rank 2 is not in the order of the steps"));
}

TEST(Verify, WantsEveryChunkOnce) {
  Schedules schedules = make_all(kRing);
  schedules[1].receives.pop_back();  // shard 2, from rank 0
  schedules[0].sends.pop_back();
  EXPECT_TRUE(complains(schedules, "rank 1 gets chunk 2 0 times"));

  schedules = make_all(kRing);
  schedules[1].receives.push_back(schedules[1].receives.back());
  schedules[0].sends.push_back(schedules[0].sends.back());
  EXPECT_TRUE(complains(schedules, "rank 1 gets chunk 2 2 times"));

  schedules = make_all(kRing);
  edit(schedules, 1, 2, [](Transfer& t) { t.chunk = 1; });
  EXPECT_TRUE(complains(schedules, "rank 1 gets chunk 1 2 times"));
}

TEST(Verify, WantsChunksFromThoseWhoHaveThem) {
  Schedules schedules = make_all(kRing);
  edit(schedules, 1, 0, [](Transfer& t) { t.step = 2; });  // shard 0, sent on to rank 2 at step 2
  EXPECT_TRUE(complains(
      schedules, "chunk 0 from rank 1 to rank 2 at step 2: the sender does not have it by then"));

  const Shape direct{.algorithm = Algorithm::kDirect, .num_ranks = 4};
  schedules = make_all(direct);
  schedules[2].receives[1].from = 3;  // shard 0, which rank 3 gets only at step 1
  schedules[2].receives[1].step = 1;
  EXPECT_TRUE(complains(direct, schedules, "the sender does not have it by then"));

  schedules = make_all(kRing);
  schedules[1].receives.erase(schedules[1].receives.begin());
  EXPECT_TRUE(complains(
      schedules, "chunk 0 from rank 1 to rank 2 at step 2: the sender does not have it by then"));
}

TEST(Verify, WantsTheSlotTheChunkLandedIn) {
  Schedules schedules = make_all(kRing);
  edit(schedules, 2, 1, [](Transfer& t) { t.read_slot = 1; });
  EXPECT_TRUE(complains(schedules, "is read from slot 1 but landed in 0"));
  EXPECT_TRUE(
      complains(schedules, "rank 1 sends chunk 0 to rank 2 from slot 1, which holds chunk -1"));

  schedules = make_all(kRing);
  edit(schedules, 2, 0, [](Transfer& t) { t.read_slot = 1; });  // the owner's own shard
  EXPECT_TRUE(complains(schedules, "is read from slot 1 but landed in -1"));
  schedules = make_all(kRing);
  edit(schedules, 2, 1, [](Transfer& t) { t.read_slot = kNone; });
  EXPECT_TRUE(complains(schedules, "is read from slot -1 but landed in 0"));
}

TEST(Verify, WantsTheWaitForWhatLayInTheSlot) {
  Shape shape = kRing;
  shape.num_slots = 2;
  Schedules schedules = make_all(shape);
  edit(schedules, 1, 2, [](Transfer& t) { t.after = kNone; });
  EXPECT_TRUE(complains(shape, schedules, "waits for chunk -1, but slot 0 holds chunk 0"));
  EXPECT_TRUE(complains(shape, schedules,
                        "chunk 2 overwrites chunk 0 in slot 0 of rank 1 before its last read"));

  schedules = make_all(shape);
  edit(schedules, 1, 2, [](Transfer& t) { t.after = 1; });  // own: never in a slot
  EXPECT_TRUE(complains(shape, schedules, "waits for chunk 1, but slot 0 holds chunk 0"));

  schedules = make_all(shape);
  edit(schedules, 1, 1, [](Transfer& t) { t.after = 0; });  // slot 1 is unused, slot 0 holds it
  EXPECT_TRUE(complains(shape, schedules, "waits for chunk 0, but slot 1 holds chunk -1"));

  schedules = make_all(shape);
  edit(schedules, 1, 2, [](Transfer& t) { t.write_slot = 1; });
  EXPECT_TRUE(complains(shape, schedules, "waits for chunk 0, but slot 1 holds chunk 3"));
}

TEST(Verify, WantsEachChunkMultipliedOnceOwnFirst) {
  Schedules schedules = make_all(kRing);
  schedules[1].multiply_order.pop_back();
  EXPECT_TRUE(complains(schedules, "rank 1 multiplies chunk 2 0 times"));
  schedules = make_all(kRing);
  schedules[1].multiply_order.push_back(2);
  EXPECT_TRUE(complains(schedules, "rank 1 multiplies chunk 2 2 times"));
  for (const int wrong : {-1, 4}) {
    schedules = make_all(kRing);
    schedules[1].multiply_order.push_back(wrong);
    EXPECT_TRUE(complains(schedules, "which does not exist"));
  }
  schedules = make_all(kRing);
  std::swap(schedules[1].multiply_order[0], schedules[1].multiply_order[1]);
  EXPECT_TRUE(complains(schedules, "rank 1 multiplies chunk 0 before its own shard"));
  EXPECT_TRUE(complains(schedules, "rank 1 multiplies chunk 1 after later arrivals"));
  schedules = make_all(kRing);
  std::swap(schedules[1].multiply_order[2], schedules[1].multiply_order[3]);
  EXPECT_TRUE(complains(schedules, "rank 1 multiplies chunk 3 after later arrivals"));

  // Pieces of one step are multiplied in any order.
  const Shape pieces{.algorithm = Algorithm::kRing, .num_ranks = 4, .num_pieces = 2};
  schedules = make_all(pieces);
  std::swap(schedules[1].multiply_order[0], schedules[1].multiply_order[1]);
  std::swap(schedules[1].multiply_order[2], schedules[1].multiply_order[3]);
  EXPECT_TRUE(verify(pieces, schedules).ok());
  std::swap(schedules[1].multiply_order[1], schedules[1].multiply_order[2]);
  EXPECT_TRUE(complains(pieces, schedules, "before its own shard"));
}

// The schedule of one algorithm given out as another's.
Verdict verify_as(Shape claimed, const Shape& real) { return verify(claimed, make_all(real)); }

TEST(Verify, HoldsTheAlgorithmsToTheirPromise) {
  const Shape direct{.algorithm = Algorithm::kDirect, .num_ranks = 4};
  const Shape doubling{.algorithm = Algorithm::kRecursiveDoubling, .num_ranks = 4};
  EXPECT_TRUE(complains(direct, make_all(kRing), "does not come from its owner"));
  EXPECT_TRUE(complains(kRing, make_all(direct), "does not go to the next rank"));
  EXPECT_TRUE(complains(doubling, make_all(kRing), "there are 3 steps for 4 ranks"));
  EXPECT_TRUE(verify_as(doubling, doubling).ok());

  const Shape both{.algorithm = Algorithm::kBidirectional, .num_ranks = 4, .num_pieces = 1};
  Shape ring = kRing;
  ring.num_pieces = 2;  // the second half of each shard travels forward too
  EXPECT_TRUE(complains(both, make_all(ring),
                        "chunk 1 from rank 0 to rank 1 at step 1 does not travel in its half's"));
  Schedules backward = make_all(both);
  backward[2].receives[0].from = 3;  // a first half, travelling backward
  EXPECT_TRUE(complains(both, backward,
                        "chunk 2 from rank 3 to rank 2 at step 1 does not travel in its half's"));
}

TEST(Verify, CountsWhatEntersAHost) {
  const Shape hosts{.algorithm = Algorithm::kHierarchical, .num_ranks = 4, .num_hosts = 2};
  const Shape direct{.algorithm = Algorithm::kDirect, .num_ranks = 4};
  const Shape one_host{.algorithm = Algorithm::kHierarchical, .num_ranks = 4};
  EXPECT_TRUE(complains(hosts, make_all(direct), "chunk 2 enters host 0 2 times"));
  EXPECT_TRUE(verify_as(one_host, direct).ok());

  // Rank 1 takes shard 0 from rank 2, who has it by then.
  Schedules schedules = make_all(hosts);
  schedules[1].receives[1].from = 2;
  EXPECT_TRUE(complains(hosts, schedules, "chunk 0 enters host 0 1 times"));
  EXPECT_TRUE(complains(hosts, schedules,
                        "chunk 0 from rank 2 to rank 1 at step 1 crosses hosts, but not from its"));
  EXPECT_FALSE(complains(hosts, make_all(hosts), "fetch between"));

  // A ring brings all that host 0 lacks through rank 0.
  EXPECT_TRUE(complains(hosts, make_all(kRing), "ranks of host 0 fetch between 0 and 3 chunks"));
  const Shape uneven{.algorithm = Algorithm::kHierarchical, .num_ranks = 5, .num_hosts = 2};
  EXPECT_TRUE(verify(uneven).ok());  // of host {3, 4} one rank fetches 2 chunks, the other 1
}

TEST(Verify, FindsWhatStalls) {
  Shape shape = kRing;
  shape.num_slots = 1;
  EXPECT_TRUE(complains(shape, make_all(shape),
                        "pull of chunk 2 from rank 3 to rank 0 at step 2 "
                        "stalls: slot 0 still holds chunk 3"));
  EXPECT_TRUE(complains(shape, make_all(shape),
                        "push of chunk 3 from rank 0 to rank 1 at step 2 "
                        "stalls: slot 0 still holds chunk 0"));
}

TEST(Verify, StopsTellingAtAFewDozen) {
  const Shape shape{.algorithm = Algorithm::kRing, .num_ranks = 17};
  Schedules schedules = make_all(shape);
  for (RankSchedule& s : schedules) s.multiply_order.clear();
  EXPECT_EQ(verify(shape, schedules).violations.size(), 40U);
}

}  // namespace
}  // namespace cmm::schedule
