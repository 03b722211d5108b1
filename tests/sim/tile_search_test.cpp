// The rule and the search against the reference kernel on the shapes that it has been tuned for.
#include <gtest/gtest.h>

#include <cmath>

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

}  // namespace
}  // namespace cmm::sim
