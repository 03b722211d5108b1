#include "sim/tile_plan.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "sim/stream_schedule.hpp"
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

// That no schedule of this shape is faster than: what it multiplies, and what is loaded again for
// each set or block because slots do not hold it from one to the next.
double least_stream_seconds(const TileProblem& problem, const schedule::TileShape& shape,
                            TileOrder order) {
  const TileMachine& machine = problem.machine;
  const std::int64_t sets = shape.num_devices * shape.num_groups() / shape.bodies[0].groups;
  const double cycles = product_cycles(machine, shape, 0) + fill_cycles(machine, shape, 0);
  const auto steps = static_cast<double>(sets * shape.num_blocks() * shape.num_k_blocks());
  const bool x_major = order == TileOrder::kXMajor;
  const std::int64_t cols = std::accumulate(shape.cols.begin(), shape.cols.end(), std::int64_t{0});
  const std::int64_t rows = shape.num_devices * shape.shard_rows;
  const std::int64_t again =
      (x_major ? cols : rows) * shape.k * tpu::element_bytes(machine.elements.operand);
  const std::int64_t kept = x_major ? shape.y_slots * y_slot_bytes(shape, machine.elements)
                                    : shape.x_slots * x_slot_bytes(shape, machine.elements);
  const std::int64_t lines = x_major ? sets : shape.num_blocks();
  const std::int64_t bytes = again + (lines - 1) * std::max<std::int64_t>(again - kept, 0);
  return std::max(steps * cycles / machine.chip.clock_hz,
                  static_cast<double>(bytes) / machine.chip.hbm_bytes_per_second);
}

// Streams are worth a try only where not all operands fit into VMEM.
ListScheduled best_stream(const TileProblem& problem) {
  std::optional<TilePlan> best;
  std::string why_not = "there is one tile of k";
  for (const TileParameters& parameters : stream_parameters(problem)) {
    const ShapeOrNot shape = shape_of(problem, parameters);
    if (!shape.shape) why_not = shape.why_not;
    if (!shape.shape || (best && least_stream_seconds(problem, *shape.shape, parameters.order) >=
                                     best->times.seconds))
      continue;
    ListScheduled scheduled = list_schedule(problem, parameters);
    if (!scheduled.plan)
      why_not = scheduled.why_not;
    else if (!best || scheduled.plan->times.seconds < best->times.seconds)
      best = std::move(scheduled.plan);
  }
  return {std::move(best), std::move(why_not)};
}

}  // namespace

TilePlan plan_tiles(const TileProblem& problem) {
  std::optional<TilePlan> plan = Rule(problem).run();
  const bool all_fits = memories(problem).size() == 1;
  std::string no_stream;
  if (!plan || !all_fits) {
    ListScheduled stream = best_stream(problem);
    no_stream = std::move(stream.why_not);
    if (stream.plan && (!plan || stream.plan->times.seconds < plan->times.seconds))
      plan = std::move(stream.plan);
  }
  if (plan) return *std::move(plan);
  std::string why_not;
  bool has_slots = false;
  for (const TileParameters& parameters : last_resorts(problem)) {
    ListScheduled scheduled = list_schedule(problem, parameters);
    if (scheduled.plan) return *std::move(scheduled.plan);
    // What is wrong with a shape says more than that another has no room for its slots.
    const bool has_slots_here = shape_of(problem, parameters).shape.has_value();
    if (has_slots_here || !has_slots) why_not = scheduled.why_not;
    has_slots = has_slots || has_slots_here;
  }
  throw Error(
      ErrorCode::kUnsupported,
      cat("no tile schedule for ", problem.machine.chip.name, ": with all of k at once, ", why_not,
          "; with k cut, ", no_stream,
          "; fewer rows (m) or columns (k) of x, fewer columns of y (n) or a narrower type need "
          "less"));
}

}  // namespace cmm::sim
