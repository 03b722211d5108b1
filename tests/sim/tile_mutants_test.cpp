// The proof of tile schedules finds each small fault put into good ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "sim/tile_problems.hpp"

namespace cmm::sim {
namespace {

using schedule::TileAction;
using schedule::TileOp;
using schedule::TileSchedule;
using schedule::TileStep;
using Kind = TileAction::Kind;
using Actions = std::vector<TileAction>;

struct Case {
  const char* name;
  ProblemText problem;
  const char* parameters;
};

void PrintTo(const Case& tried, std::ostream* out) { *out << tried.name; }

const std::vector<Case> kCases = {
    {"x stays, pieces",
     {.num_devices = 4, .m = 512, .k = 256, .cols = {768}},
     "side_rows=32 piece_rows=16 block_cols=128 bodies=1x1/2,2f/2,2x3/2"},
    {"x stays, gathered",
     {.num_devices = 3, .m = 192, .k = 256, .cols = {256, 128}, .gathered = true},
     "side_rows=16 piece_rows=16 block_cols=128 bodies=1x1/1,2x1/1"},
    {"ring with credits",
     {.num_devices = 5, .m = 640, .k = 256, .cols = {512}},
     "side_rows=32 piece_rows=16 block_cols=128 bodies=1x1/2,2x2/2 x_bytes=131072"},
    {"ring with credits, gathered",
     {.num_devices = 4, .m = 224, .k = 256, .cols = {256}, .gathered = true},
     "side_rows=16 piece_rows=8 block_cols=128 bodies=1x1/2 x_bytes=49152"},
    {"through HBM",
     {.num_devices = 4, .m = 512, .k = 256, .cols = {512}, .gathered = true},
     "side_rows=32 piece_rows=16 block_cols=128 bodies=1x1/2,1x2/2 x_home=hbm x_bytes=98304"},
    {"two passes",
     {.num_devices = 4, .m = 512, .k = 256, .cols = {512}},
     "side_rows=32 piece_rows=32 block_cols=128 bodies=1x1/2,2x1/2 x_bytes=262144 passes=2"},
    {"one device",
     {.num_devices = 1, .m = 128, .k = 256, .cols = {512}},
     "side_rows=32 piece_rows=32 block_cols=128 bodies=1x1/1,2x2/2"},
    {"two devices",
     {.num_devices = 2, .m = 112, .k = 256, .cols = {512}},
     "side_rows=16 piece_rows=8 block_cols=128 bodies=1x1/2,1x4/1"},
};

std::vector<Actions*> lists_of(TileSchedule& schedule) {
  std::vector<Actions*> lists;
  for (TileStep& step : schedule.steps) {
    for (Actions* list : {&step.waits, &step.starts, &step.operands, &step.after})
      lists.push_back(list);
  }
  lists.push_back(&schedule.drain);
  return lists;
}

class Mutants : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const ListScheduled scheduled = list_schedule(tile_problem(GetParam().problem),
                                                  parse_tile_parameters(GetParam().parameters));
    ASSERT_TRUE(scheduled.plan) << scheduled.why_not;
    good_ = scheduled.plan->schedule;
    ASSERT_EQ(verify(good_), "");
  }

  // Puts a fault into a copy of the schedule: `change` of each action in turn.
  void change_each_action(const std::string& name,
                          const std::function<bool(Actions&, std::size_t)>& change) {
    TileSchedule schedule = good_;
    const std::vector<Actions*> lists = lists_of(schedule);
    for (std::size_t list = 0; list < lists.size(); ++list) {
      const Actions before = *lists[list];
      for (std::size_t i = 0; i < before.size(); ++i) {
        if (change(*lists[list], i)) {
          ++num_changed_;
          EXPECT_NE(verify(schedule), "") << name << " of kind " << static_cast<int>(before[i].kind)
                                          << ", list " << list % 4 << " of step " << list / 4;
        }
        *lists[list] = before;
      }
    }
  }
  void TearDown() override {
    if (applies_) {
      EXPECT_GT(num_changed_, 0);
    }
  }

  TileSchedule good_;
  // The schedule has nothing of what the test changes.
  void does_not_apply() { applies_ = false; }

  int num_changed_ = 0;
  bool applies_ = true;
};

TEST_P(Mutants, AnActionIsMissing) {
  change_each_action("without an action", [](Actions& list, std::size_t i) {
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  });
}

TEST_P(Mutants, AnActionIsDoneTwice) {
  change_each_action("twice an action", [](Actions& list, std::size_t i) {
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), TileAction(list[i]));
    return true;
  });
}

// The fields that count for each kind, one too high.
TEST_P(Mutants, AFieldIsAnother) {
  const std::vector<std::pair<int TileAction::*, std::vector<Kind>>> fields = {
      {&TileAction::hop, {Kind::kAwaitArrival, Kind::kSend, Kind::kLoadX, Kind::kStoreX}},
      {&TileAction::piece, {Kind::kAwaitArrival, Kind::kSend}},
      {&TileAction::group, {Kind::kLoadX, Kind::kStoreX}},
      {&TileAction::block, {Kind::kLoadY}},
      {&TileAction::k_block, {Kind::kLoadX, Kind::kLoadY}},
      {&TileAction::body, {Kind::kAwaitStore, Kind::kStore}},
      {&TileAction::slot,
       {Kind::kAwaitX, Kind::kAwaitY, Kind::kAwaitStore, Kind::kAwaitStoreX, Kind::kLoadX,
        Kind::kLoadY, Kind::kStore, Kind::kStoreX}}};
  for (const auto& [field, kinds] : fields) {
    change_each_action("another field", [&](Actions& list, std::size_t i) {
      if (std::ranges::find(kinds, list[i].kind) == kinds.end()) return false;
      ++(list[i].*field);
      return true;
    });
  }
}

TEST_P(Mutants, ASlotOfASendIsAnother) {
  if (good_.shape.num_devices == 1 || good_.shape.x_home == schedule::XHome::kHbm)
    return does_not_apply();
  change_each_action("another slot to send to", [&](Actions& list, std::size_t i) {
    list[i].to_slot = (list[i].to_slot + 1) % good_.shape.x_slots;
    return list[i].kind == Kind::kSend;
  });
  if (good_.shape.num_devices == 2) return;
  change_each_action("another slot to send from", [&](Actions& list, std::size_t i) {
    list[i].slot = (list[i].slot + 1) % good_.shape.x_slots;
    return list[i].kind == Kind::kSend && list[i].hop > 0;
  });
}

TEST_P(Mutants, ASideIsTheOther) {
  if (good_.shape.num_devices == 1) return does_not_apply();
  change_each_action("the other side", [](Actions& list, std::size_t i) {
    const Kind kind = list[i].kind;
    list[i].side = list[i].side == schedule::Side::kForward ? schedule::Side::kBackward
                                                            : schedule::Side::kForward;
    return kind == Kind::kAwaitDeparture || kind == Kind::kAwaitArrival || kind == Kind::kSend ||
           kind == Kind::kAwaitCredit || kind == Kind::kGrant;
  });
}

TEST_P(Mutants, AnOperandOfAnOpIsAnother) {
  TileSchedule schedule = good_;
  for (TileStep& step : schedule.steps) {
    for (TileOp& op : step.ops) {
      for (int TileOp::*field :
           {&TileOp::hop, &TileOp::group, &TileOp::block, &TileOp::x_slot, &TileOp::y_slot}) {
        ++(op.*field);
        ++num_changed_;
        EXPECT_NE(verify(schedule), "");
        --(op.*field);
      }
    }
    if (step.body == schedule::kNone) continue;
    step.out_slot ^= 1;
    EXPECT_NE(verify(schedule), "");
    step.out_slot ^= 1;
  }
  EXPECT_EQ(verify(schedule), "");
}

// Grants come as early as they may: at least one of a step's belongs to something done in it.
TEST_P(Mutants, GrantsComeAStepEarlier) {
  if (!good_.shape.needs_credits()) return does_not_apply();
  for (std::size_t i = 1; i < good_.steps.size(); ++i) {
    TileSchedule schedule = good_;
    Actions& after = schedule.steps[i].after;
    const auto grants = std::ranges::partition_point(
        after, [](const TileAction& action) { return action.kind < Kind::kGrant; });
    if (grants == after.end()) continue;
    ++num_changed_;
    Actions& earlier = schedule.steps[i - 1].after;
    earlier.insert(earlier.end(), grants, after.end());
    after.erase(grants, after.end());
    EXPECT_NE(verify(schedule), "") << "step " << i;
  }
}

// A product whose operand is awaited only in the step after it.
TEST_P(Mutants, AnOperandIsAwaitedTooLate) {
  TileSchedule schedule = good_;
  for (std::size_t i = 0; i + 1 < schedule.steps.size(); ++i) {
    if (schedule.steps[i].body == schedule::kNone) continue;
    const TileSchedule before = schedule;
    Actions& operands = schedule.steps[i].operands;
    const auto late = std::ranges::find_if(operands, [](const TileAction& action) {
      return action.kind == Kind::kAwaitX || action.kind == Kind::kAwaitY;
    });
    if (late == operands.end()) continue;
    Actions& next = schedule.steps[i + 1].operands;
    next.insert(std::ranges::find_if(
                    next, [&](const TileAction& action) { return action.kind > late->kind; }),
                *late);
    operands.erase(late);
    ++num_changed_;
    EXPECT_NE(verify(schedule), "") << "step " << i;
    schedule = before;
  }
}

TEST_P(Mutants, AStepIsMissing) {
  for (std::size_t i = 0; i < good_.steps.size(); ++i) {
    TileSchedule schedule = good_;
    schedule.steps.erase(schedule.steps.begin() + static_cast<std::ptrdiff_t>(i));
    ++num_changed_;
    EXPECT_NE(verify(schedule), "") << "step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(, Mutants, testing::ValuesIn(kCases), [](const auto& instance) {
  std::string name = instance.param.name;
  std::erase_if(name, [](char c) { return c == ',' || c == ' '; });
  return name;
});

}  // namespace
}  // namespace cmm::sim
