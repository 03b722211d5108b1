#include "sim/tile_plan.hpp"

#include <set>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "sim/tile_recipe.hpp"

namespace cmm::sim {
namespace {

// Improves a recipe in one respect after another: what wins hardly depends on the rest.
class Rule {
 public:
  explicit Rule(const TileProblem& problem) : problem_(problem) {}

  std::optional<TilePlan> run() {
    vary_memory();
    vary_tiles();
    vary_bodies();
    vary(std::vector<int>{2, 3},
         [](TileRecipe& recipe, int sends) { recipe.sends_per_step = sends; });
    vary(std::vector<int>{1, 3},
         [](TileRecipe& recipe, int loads) { recipe.loads_per_step = loads; });
    vary(std::vector<double>{0.6, 1.0, 1.3},
         [](TileRecipe& recipe, double y_ahead) { recipe.y_ahead = y_ahead; });
    vary_tiles();
    vary_bodies();
    vary(std::vector<TileOrder>{TileOrder::kYMajor},
         [](TileRecipe& recipe, TileOrder order) { recipe.order = order; });
    return std::move(plan_);
  }

 private:
  template <class Values, class Set>
  void vary(const Values& values, const Set& set) {
    const TileRecipe start = best_;
    for (const auto& value : values) {
      TileRecipe recipe = start;
      set(recipe, value);
      attempt(recipe);
    }
  }
  // What fits beside what depends on the sizes of both.
  void vary_memory() {
    const TileRecipe start = best_;
    for (const TileMemory& memory : memories(problem_)) {
      for (const std::int64_t side_rows : {64, 128}) {
        for (const std::int64_t mxu_tiles : {1, 2}) {
          for (const std::size_t bodies : {0, 1}) {
            TileRecipe recipe = start;
            recipe.memory = memory;
            recipe.side_rows = side_rows;
            recipe.mxu_tiles = mxu_tiles;
            recipe.bodies = bodies;
            attempt(recipe);
          }
        }
      }
    }
  }
  void vary_tiles() {
    const TileRecipe start = best_;
    for (const std::int64_t side_rows : {64, 128}) {
      for (const std::int64_t pieces : {1, 2, 4}) {
        for (const std::int64_t mxu_tiles : {1, 2}) {
          for (const std::size_t bodies : {start.bodies, std::size_t{0}}) {
            TileRecipe recipe = start;
            recipe.side_rows = side_rows;
            recipe.pieces = pieces;
            recipe.mxu_tiles = mxu_tiles;
            recipe.bodies = bodies;
            attempt(recipe);
          }
        }
      }
    }
  }
  void vary_bodies() {
    const TileParameters p = parameters_of(problem_, best_);
    std::vector<std::size_t> all(bodies_for(problem_.shape, p.side_rows, p.block_cols).size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    vary(all, [](TileRecipe& recipe, std::size_t bodies) { recipe.bodies = bodies; });
  }

  void attempt(const TileRecipe& recipe) {
    const TileParameters parameters = parameters_of(problem_, recipe);
    if (!tried_.insert(to_text(parameters)).second) return;
    ListScheduled scheduled = list_schedule(problem_, parameters);
    if (!scheduled.plan || (plan_ && plan_->times.seconds <= scheduled.plan->times.seconds)) return;
    plan_ = std::move(scheduled.plan);
    best_ = recipe;
  }

  const TileProblem& problem_;
  TileRecipe best_;
  std::optional<TilePlan> plan_;
  std::set<std::string> tried_;
};

}  // namespace

TilePlan plan_tiles(const TileProblem& problem) {
  std::optional<TilePlan> plan = Rule(problem).run();
  if (plan) return *std::move(plan);
  std::string why_not;
  for (const TileParameters& parameters : last_resorts(problem)) {
    ListScheduled scheduled = list_schedule(problem, parameters);
    if (scheduled.plan) return *std::move(scheduled.plan);
    why_not = scheduled.why_not;
  }
  throw Error(ErrorCode::kUnsupported, cat("no tile schedule for ", problem.machine.chip.name,
                                           ": with the smallest blocks it ", why_not));
}

}  // namespace cmm::sim
