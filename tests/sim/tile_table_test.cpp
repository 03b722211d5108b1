// The table of searched parameters: it is read, it helps, and it has something for everyone.
#include "sim/tile_table.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cmm/error.hpp"
#include "sim/six_shapes.hpp"

namespace cmm::sim {
namespace {

TEST(TileTable, SurvivesAsText) {
  for (const TileEntry& entry : builtin_tile_table()) {
    const std::string text = to_text(entry);
    EXPECT_EQ(to_text(parse_tile_table(text).front()), text);
  }
}

TEST(TileTable, WrongLinesAreNamed) {
  const std::string line = to_text(builtin_tile_table().front());
  for (const std::string& wrong : {std::string("v6e 8 bf16"), "v6e 0 " + line.substr(6),
                                   "v6e 8 bf17 " + line.substr(11), line + " width=3"}) {
    try {
      parse_tile_table("# comment\n" + line + "\n" + wrong + "\n");
      FAIL() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadFile);
      EXPECT_NE(std::string(error.what()).find("line 3"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(parse_tile_table("# nothing\n"), Error);
}

TEST(TileTable, AnEntryIsNearestToItsOwnProblem) {
  const auto& table = builtin_tile_table();
  for (const TileProblem& problem : table_problems()) {
    const TileEntry& entry = nearest_entry(table, problem);
    if (entry.chip != problem.machine.chip.name) continue;
    for (const TileEntry& other : table) {
      if (other.chip != problem.machine.chip.name || other.k != problem.shape.k ||
          other.cols != problem.shape.cols || other.num_devices != problem.shape.num_devices ||
          other.m != problem.shape.num_devices * problem.shape.shard_rows)
        continue;
      EXPECT_EQ(to_text(other), to_text(entry));
    }
  }
}

// What the table says of a problem is what the model still says of it.
TEST(TileTable, TimesAreThoseOfTheModel) {
  const auto& table = builtin_tile_table();
  int num_checked = 0;
  for (const TileProblem& problem : table_problems()) {
    const TileEntry& entry = nearest_entry(table, problem);
    const bool exact = entry.chip == problem.machine.chip.name && entry.k == problem.shape.k &&
                       entry.cols == problem.shape.cols &&
                       entry.num_devices == problem.shape.num_devices &&
                       entry.m == problem.shape.num_devices * problem.shape.shard_rows;
    if (!exact || num_checked % 10 > 0) {
      num_checked += exact ? 1 : 0;
      continue;
    }
    ++num_checked;
    const ListScheduled scheduled = list_schedule(problem, entry.parameters);
    ASSERT_TRUE(scheduled.plan) << to_text(entry) << ": " << scheduled.why_not;
    EXPECT_NEAR(scheduled.plan->times.seconds * 1e6, entry.seconds * 1e6, 0.06) << to_text(entry);
    EXPECT_EQ(verify(scheduled.plan->schedule), "") << to_text(entry);
  }
  EXPECT_GT(num_checked, 5);
}

TEST(TileTable, BeatsTheReferenceByTheAim) {
  double logs = 0;
  for (const TunedShape& shape : kSixShapes) {
    const double reference = walk_reference(reference_of(shape)).seconds;
    logs += std::log(reference / best_tiles(problem_of(shape)).times.seconds);
  }
  EXPECT_GE(std::exp(logs / static_cast<double>(kSixShapes.size())), 1.18);
}

TEST(TileTable, ThereIsAPlanForEveryProblem) {
  for (const ProblemText& text : small_problems()) {
    SCOPED_TRACE(to_text(text));
    const TileProblem problem = tile_problem(text);
    const TilePlan plan = best_tiles(problem);
    EXPECT_EQ(verify(plan.schedule), "") << to_text(plan.parameters);
    EXPECT_LE(plan.times.seconds, plan_tiles(problem).times.seconds);
  }
}

}  // namespace
}  // namespace cmm::sim
