// Schedules that cut k: each is proved, and there is one where nothing else fits.
#include "sim/stream_schedule.hpp"

#include <gtest/gtest.h>

#include "sim/bound.hpp"
#include "sim/operand_slots.hpp"
#include "sim/tile_problems.hpp"
#include "sim/tile_recipe.hpp"

namespace cmm::sim {
namespace {

int num_k_blocks(const TilePlan& plan) {
  return static_cast<int>(plan.schedule.shape.num_k_blocks());
}

// P = 1 .. 9, ragged rows and columns, several right sides, gathered; sets of one group and of
// several, slots for two steps and for more.
TEST(StreamSchedule, EveryScheduleIsRight) {
  int num_plans = 0, num_ragged_sets = 0;
  int i = 0;
  for (ProblemText text : small_problems()) {
    text.k = text.k == 128 ? 640 : text.k;
    for (const int groups : {1, 2, 3}) {
      ++i;
      text.gathered = i % 2 == 0;
      SCOPED_TRACE(to_text(text) + " groups " + std::to_string(groups));
      const TileProblem problem = tile_problem(text);
      TileParameters p;
      p.x_home = schedule::XHome::kHbm;
      p.side_rows = i % 3 == 0 ? 16 : 64;
      p.piece_rows = p.side_rows / (1 + i % 2);
      fit_rows(problem.shape, p);
      p.block_cols = i % 4 < 2 ? 128 : 384;
      p.block_k = 128;
      p.order = i % 5 < 3 ? TileOrder::kXMajor : TileOrder::kYMajor;
      p.bodies = {{.groups = groups, .out_slots = 1 + i % 2}};
      const int all = static_cast<int>(
          problem.shape.num_devices *
          ceil_div(problem.shape.half_rows(schedule::Side::kForward), p.side_rows));
      if (all < groups) continue;
      if (all % groups != 0) p.bodies.push_back({.groups = all % groups});
      p.x_bytes = (2 + i % 3) * groups * 2 * p.side_rows * p.block_k *
                  tpu::element_bytes(problem.machine.elements.operand);
      p.loads_per_step = 1 + i % 3;
      const ListScheduled scheduled = list_schedule(problem, p);
      ASSERT_TRUE(scheduled.plan) << scheduled.why_not << " " << to_text(p);
      ASSERT_EQ(verify(scheduled.plan->schedule), "") << to_text(p);
      ++num_plans;
      num_ragged_sets += static_cast<int>(p.bodies.size()) - 1;
    }
  }
  EXPECT_GT(num_plans, 150);
  EXPECT_GT(num_ragged_sets, 40);
}

TEST(StreamSchedule, IsThereWhereNothingElseFits) {
  struct Case {
    ProblemText text;
    std::int64_t vmem_bytes;  // 0: the chip's
  };
  for (const Case& c : std::vector<Case>{
           {{.chip = "v4", .k = 1 << 18}, 0},
           {{.chip = "v4", .num_devices = 4, .m = 4096, .k = 16384, .cols = {8192}}, 0},
           {{.chip = "v6e", .k = 53248, .cols = {2048}}, 0},
           {{.chip = "v6e", .k = 65536, .cols = {256, 1024}, .gathered = true}, 0},
           {{.chip = "v5e", .num_devices = 3, .m = 3, .k = 8192, .cols = {256}}, 1 << 20},
           {{.chip = "7x", .num_devices = 1, .m = 512, .k = 8192, .cols = {1280}}, 1 << 19},
           {{.chip = "v5p", .num_devices = 9, .m = 900, .k = 128 * 97, .cols = {20 * 128}},
            1 << 22}}) {
    TileProblem problem = tile_problem(c.text);
    if (c.vmem_bytes > 0) problem.machine.chip.vmem_bytes = c.vmem_bytes;
    SCOPED_TRACE(to_text(c.text));
    const TilePlan plan = plan_tiles(problem);
    EXPECT_EQ(verify(plan.schedule), "") << to_text(plan.parameters);
    EXPECT_LE(vmem_bytes(plan.schedule.shape, problem.machine.elements),
              problem.machine.chip.vmem_bytes);
    EXPECT_GE(plan.times.seconds, bound(problem).seconds());
    std::cout << to_text(c.text) << ": " << plan.schedule.steps.size() << " steps, share of bound "
              << bound(problem).seconds() / plan.times.seconds << ", " << num_k_blocks(plan)
              << " k blocks " << to_text(plan.parameters) << "\n";
  }
}

TEST(StreamSchedule, LoadsWhileItMultiplies) {
  const ProblemText text = {.chip = "v6e", .m = 8192, .k = 65536, .cols = {8192}};
  const TileProblem problem = tile_problem(text);
  const TilePlan plan = plan_tiles(problem);
  EXPECT_GT(num_k_blocks(plan), 1);
  EXPECT_GT(bound(problem).seconds() / plan.times.seconds, 0.8) << to_text(plan.parameters);
}

TEST(StreamSchedule, SaysWhatItNeeds) {
  const TileProblem problem = tile_problem({.num_devices = 3, .m = 192, .k = 512, .cols = {256}});
  TileParameters p;
  p.x_home = schedule::XHome::kHbm;
  p.side_rows = p.piece_rows = 32;
  p.block_k = 128;
  const auto why_not = [&] { return list_schedule(problem, p).why_not; };
  p.bodies = {{.groups = 2}};
  EXPECT_NE(why_not().find("no body of 1 groups"), std::string::npos) << why_not();
  p.bodies = {{.blocks = 2}};
  EXPECT_NE(why_not().find("no body of 1 groups and one block"), std::string::npos) << why_not();
  p.bodies = {{}};
  EXPECT_EQ(why_not(), "");
  p.passes = 2;
  EXPECT_NE(why_not().find("no passes"), std::string::npos) << why_not();
}

// Two parts that alternate with two slots are loaded once; the part needed last makes room.
TEST(OperandSlots, KeepsWhatIsNeededNext) {
  OperandSlots slots(2, {0, 1, 0, 2, 0, 1}, 3);
  int loads = 0;
  for (int step = 0; step < 6; ++step) {
    while (const auto load = slots.next(step, step + 1)) {
      slots.is_loaded(*load);
      ++loads;
    }
    ASSERT_NE(slots.slot_of_step(step), schedule::kNone);
  }
  EXPECT_EQ(loads, 4);
}

}  // namespace
}  // namespace cmm::sim
