// The rule and the search against the reference kernel on the shapes that it has been tuned for.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "base/text.hpp"
#include "sim/bound.hpp"
#include "sim/six_shapes.hpp"

namespace cmm::sim {
namespace {

double speed_up(const TunedShape& shape, const TilePlan& plan) {
  return walk_reference(reference_of(shape)).seconds / plan.times.seconds;
}

TEST(Rule, BeatsTheReferenceOnItsOwnShapes) {
  double logs = 0;
  for (const TunedShape& shape : kSixShapes) {
    const TilePlan plan = plan_tiles(problem_of(shape));
    EXPECT_EQ(verify(plan.schedule), "");
    EXPECT_GT(speed_up(shape, plan), 1) << shape.m;
    logs += std::log(speed_up(shape, plan)) / static_cast<double>(kSixShapes.size());
  }
  EXPECT_GE(std::exp(logs), 1.17);
}

TEST(Search, IsNoWorseThanTheRuleAndSaysTheSameAgain) {
  for (const TunedShape& shape : {kSixShapes[0], kSixShapes[2]}) {
    const TileProblem problem = problem_of(shape);
    const SearchOptions options = {.seed = 3, .num_candidates = 300};
    const TilePlan plan = search_tiles(problem, plan_tiles(problem), options);
    EXPECT_EQ(verify(plan.schedule), "");
    EXPECT_LE(plan.times.seconds, plan_tiles(problem).times.seconds);
    EXPECT_EQ(to_text(search_tiles(problem, plan_tiles(problem), options).parameters),
              to_text(plan.parameters));
    // What was found is found again from its text.
    const ListScheduled again =
        list_schedule(problem, parse_tile_parameters(to_text(plan.parameters)));
    ASSERT_TRUE(again.plan);
    EXPECT_EQ(again.plan->times.seconds, plan.times.seconds);
  }
}

// Tiles and bodies of what its steps multiply.
std::string products_text(const TilePlan& plan) {
  std::set<int> used;
  for (const schedule::TileStep& step : plan.schedule.steps) used.insert(step.body);
  const schedule::TileShape& shape = plan.schedule.shape;
  std::string text = cat(shape.side_rows, " x ", shape.block_cols, " x ", shape.block_k);
  for (const int body : used) {
    if (body == schedule::kNone) continue;
    const schedule::TileBody& what = shape.bodies[body];
    text += cat(", ", what.groups, "x", what.blocks, what.free ? "f" : "");
  }
  return text;
}

TEST(Search, KeepsTheBestOfEachKindOfProduct) {
  const TileProblem problem = problem_of(kSixShapes[0]);
  const SearchOptions options = {.seed = 3, .num_candidates = 300};
  const std::vector<TilePlan> plans = search_best_tiles(problem, plan_tiles(problem), options, 4);
  ASSERT_EQ(plans.size(), 4U);
  EXPECT_EQ(to_text(plans[0].parameters),
            to_text(search_tiles(problem, plan_tiles(problem), options).parameters));
  std::set<std::string> kinds;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    EXPECT_TRUE(kinds.insert(products_text(plans[i])).second) << products_text(plans[i]);
    if (i > 0) {
      EXPECT_GE(plans[i].times.seconds, plans[i - 1].times.seconds);
    }
  }
}

}  // namespace
}  // namespace cmm::sim
