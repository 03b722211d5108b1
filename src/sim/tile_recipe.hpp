// Parameters worth trying, by what has won in searches over many shapes (docs/tpu.md, "Search").
#pragma once

#include <vector>

#include "sim/tile_plan.hpp"

namespace cmm::sim {

// What lies in VMEM for the whole call, and what takes turns.
struct TileMemory {
  schedule::XHome x_home = schedule::XHome::kVmem;
  std::int64_t x_bytes = 0;  // as in TileParameters
  int passes = 1;
};
std::vector<TileMemory> memories(const TileProblem& problem);

// A few choices from which all parameters follow.
struct TileRecipe {
  TileMemory memory;
  std::int64_t side_rows = 64;  // about so many: a half is cut evenly
  std::int64_t pieces = 2;      // of a group's side
  std::int64_t mxu_tiles = 1;   // columns of a block, in the MXU's tiles
  std::size_t bodies = 0;       // which of bodies_for()
  int sends_per_step = 1;
  int loads_per_step = 2;
  double y_ahead = 0.8;
  TileOrder order = TileOrder::kXMajor;
};
TileParameters parameters_of(const TileProblem& problem, const TileRecipe& recipe);

// Of VMEM, for the compiler.
std::int64_t margin_bytes(const tpu::Chip& chip);

// Makes a plan's rows fit another problem: about as many, in as many pieces, cutting a half evenly.
void fit_rows(const schedule::TileShape& shape, TileParameters& parameters);

// Sets of bodies; the first is a good start.
std::vector<std::vector<schedule::TileBody>> bodies_for(const schedule::TileShape& shape,
                                                        std::int64_t side_rows,
                                                        std::int64_t block_cols);

// Where no recipe fits: ever smaller groups and blocks, then x through HBM, then more passes. The
// first that leads to a plan is meant.
std::vector<TileParameters> last_resorts(const TileProblem& problem);

}  // namespace cmm::sim
