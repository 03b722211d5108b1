// Parameters worth trying for a problem.
#pragma once

#include <vector>

#include "sim/tile_plan.hpp"

namespace cmm::sim {

// Some tens, by what has won in searches over many shapes: docs/tpu.md has the reasons.
std::vector<TileParameters> candidates(const TileProblem& problem);

// Where none of those fits: ever smaller groups and blocks, x through HBM, at last k in blocks. The
// first that leads to a plan is meant.
std::vector<TileParameters> last_resorts(const TileProblem& problem);

// Of VMEM, for the compiler.
std::int64_t default_margin_bytes(const tpu::Chip& chip);

}  // namespace cmm::sim
