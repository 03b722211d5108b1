// Makes tile schedules: a list scheduler on the walker's clock, a rule that tries some tens of its
// parameters, and a search that tries thousands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/tiles.hpp"
#include "sim/tile_walk.hpp"

namespace cmm::sim {

// Extents are padded ones (tiles.hpp): schedule::TileShape's num_devices, shard_rows, k, cols,
// row_tile and gathered count, the rest is to be chosen.
struct TileProblem {
  TileMachine machine;
  schedule::TileShape shape;
};

enum class TileOrder { kXMajor, kYMajor };

struct TileParameters {
  std::int64_t side_rows = 64;
  std::int64_t piece_rows = 32;
  std::int64_t block_cols = 256;
  std::int64_t block_k = 0;  // 0: k
  std::vector<schedule::TileBody> bodies;
  TileOrder order = TileOrder::kXMajor;
  schedule::XHome x_home = schedule::XHome::kVmem;
  std::int64_t x_bytes = 0;  // of VMEM for x slots; 0: for all of x
  int passes = 1;            // x is cut into this many runs of groups, y is streamed once for each
  int sends_per_step = 1;    // at most, of each direction
  int loads_per_step = 2;    // at most, of x and of y
  int y_parts = 1;
  double y_ahead = 0.8;     // bytes of y in flight, over what HBM moves during a step
  double send_ahead = 1.0;  // bytes on a link, over what it moves during a step and a hop
  std::int64_t margin_bytes = std::int64_t{8} << 20;  // of VMEM, for the compiler
};
// One line, as "side_rows=64 piece_rows=32 block_cols=256 bodies=1x1/2,4f/2,2x5/2 order=x ...": a
// body is groups x blocks, or blocks and f where it is free, and its out slots.
std::string to_text(const TileParameters& parameters);
TileParameters parse_tile_parameters(std::string_view text);  // throws Error(kInvalidArgument)

// The shape that these parameters lead to: slots as VMEM allows. Or why there is none.
struct ShapeOrNot {
  std::optional<schedule::TileShape> shape;
  std::string why_not;
};
ShapeOrNot shape_of(const TileProblem& problem, const TileParameters& parameters);

struct TilePlan {
  schedule::TileSchedule schedule;
  TileParameters parameters;
  TileTimes times;  // of walk()
};

// The schedule that these parameters lead to, or why there is none, in words.
struct ListScheduled {
  std::optional<TilePlan> plan;
  std::string why_not;
};
ListScheduled list_schedule(const TileProblem& problem, const TileParameters& parameters);

// The rule: the best of some tens of candidates, in milliseconds. There is a plan for every problem
// whose smallest blocks fit into VMEM: else Error(kUnsupported) with what is needed and present.
TilePlan plan_tiles(const TileProblem& problem);

// Searches from a plan on; no worse than that. The same seed leads to the same plan.
struct SearchOptions {
  std::uint64_t seed = 1;
  int num_candidates = 20000;
};
TilePlan search_tiles(const TileProblem& problem, TilePlan start, const SearchOptions& options);
// The same search's `num_plans` best, the best first, of which no two multiply the same tiles in
// the same bodies: there is one for each way to make the products that is worth a closer look.
std::vector<TilePlan> search_best_tiles(const TileProblem& problem, TilePlan start,
                                        const SearchOptions& options, int num_plans);

}  // namespace cmm::sim
