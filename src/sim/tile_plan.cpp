#include "sim/tile_plan.hpp"

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "sim/tile_candidates.hpp"

namespace cmm::sim {

TilePlan plan_tiles(const TileProblem& problem) {
  std::optional<TilePlan> best;
  for (const TileParameters& parameters : candidates(problem)) {
    ListScheduled scheduled = list_schedule(problem, parameters);
    if (scheduled.plan && (!best || scheduled.plan->times.seconds < best->times.seconds))
      best = std::move(scheduled.plan);
  }
  if (best) return *std::move(best);
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
