// Schedules in which k is cut: both operands stream through a few slots, one k block after another.
#pragma once

#include <string>
#include <vector>

#include "sim/tile_plan.hpp"

namespace cmm::sim {

// `shape` is that of the parameters, with more than one k block.
struct StreamScheduled {
  schedule::TileSchedule schedule;
  std::string why_not;  // or empty
};
StreamScheduled stream_schedule(const TileProblem& problem, const TileParameters& parameters,
                                const schedule::TileShape& shape);

// Parameters for it, those with much to multiply for what a step loads first.
std::vector<TileParameters> stream_parameters(const TileProblem& problem);

}  // namespace cmm::sim
