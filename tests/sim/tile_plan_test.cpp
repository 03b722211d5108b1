// Plans of small and ragged problems: each is proved.
#include "sim/tile_plan.hpp"

#include <gtest/gtest.h>

#include "cmm/error.hpp"
#include "sim/tile_problems.hpp"
#include "sim/tile_recipe.hpp"

namespace cmm::sim {
namespace {

double parts(const TileTimes& times) {
  return times.mxu_seconds + times.control_seconds + times.idle_x_seconds + times.idle_y_seconds +
         times.idle_out_seconds + times.idle_other_seconds + times.tail_seconds;
}

TEST(TilePlan, EveryPlanIsRight) {
  for (const ProblemText& text : small_problems()) {
    SCOPED_TRACE(to_text(text));
    const TileProblem problem = tile_problem(text);
    const TilePlan plan = plan_tiles(problem);
    EXPECT_EQ(verify(plan.schedule), "") << to_text(plan.parameters);
    EXPECT_NEAR(parts(plan.times) / plan.times.seconds, 1, 1e-9);
    EXPECT_LE(vmem_bytes(plan.schedule.shape, problem.machine.elements),
              problem.machine.chip.vmem_bytes);
  }
}

// Not the best of them only.
TEST(TilePlan, EveryRecipeLeadsToARightPlanOrNone) {
  int num_plans = 0;
  for (const ProblemText& text : small_problems()) {
    SCOPED_TRACE(to_text(text));
    const TileProblem problem = tile_problem(text);
    TileRecipe recipe;
    for (const schedule::XHome home : {schedule::XHome::kVmem, schedule::XHome::kHbm}) {
      for (int i = 0; i < 12; ++i) {
        recipe.memory = {.x_home = home, .x_bytes = i % 2 * 200'000, .passes = 1 + i % 3};
        recipe.side_rows = i % 4 < 2 ? 16 : 128;
        recipe.pieces = 1 + i % 3;
        recipe.bodies = static_cast<std::size_t>(i);
        recipe.sends_per_step = 1 + i % 2;
        recipe.order = i % 5 < 3 ? TileOrder::kXMajor : TileOrder::kYMajor;
        const ListScheduled scheduled = list_schedule(problem, parameters_of(problem, recipe));
        if (!scheduled.plan) continue;
        ++num_plans;
        ASSERT_EQ(verify(scheduled.plan->schedule), "") << to_text(scheduled.plan->parameters);
      }
    }
  }
  EXPECT_GT(num_plans, 800);
}

TEST(TilePlan, SaysWhyThereIsNone) {
  const auto error_of = [](const ProblemText& text, std::int64_t vmem_bytes) -> std::string {
    TileProblem problem = tile_problem(text);
    problem.machine.chip.vmem_bytes = vmem_bytes;
    try {
      plan_tiles(problem);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(error_of({.chip = "v4", .element = tpu::Element::kF8E4M3}, 16 << 20).find("no fp8"),
            std::string::npos);
  EXPECT_NE(error_of({.chip = "v4"}, 100'000).find("VMEM"), std::string::npos);
}

TEST(TilePlan, ParametersSurviveAsText) {
  TileParameters p;
  p.side_rows = 128;
  p.bodies = {{.groups = 1, .blocks = 1, .out_slots = 3},
              {.blocks = 4, .free = true},
              {.groups = 2, .blocks = 5}};
  p.order = TileOrder::kYMajor;
  p.x_home = schedule::XHome::kHbm;
  p.passes = 4;
  p.y_ahead = 0.55;
  const TileParameters read = parse_tile_parameters(to_text(p));
  EXPECT_EQ(to_text(read), to_text(p));
  EXPECT_TRUE(read.bodies[1].free);
  EXPECT_THROW(parse_tile_parameters("bodies=1x1/2 side=3"), Error);
  EXPECT_THROW(parse_tile_parameters("bodies=1x1"), Error);
  EXPECT_THROW(parse_tile_parameters("side_rows=64"), Error);
  EXPECT_THROW(parse_tile_parameters("bodies=1x1/2 passes=two"), Error);
}

}  // namespace
}  // namespace cmm::sim
