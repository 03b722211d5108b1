#include <algorithm>
#include <set>

#include "sim/stream_schedule.hpp"
#include "sim/tile_recipe.hpp"

namespace cmm::sim {
namespace {

using schedule::Side;
using schedule::TileBody;
using schedule::TileShape;
using tpu::kLanes;

// The largest part of k, in whole tiles, that divides it and is no larger than `most`.
std::int64_t block_k_below(std::int64_t k, std::int64_t most) {
  std::int64_t tiles = std::min(k, most) / kLanes;
  while (k / kLanes % tiles != 0) --tiles;
  return tiles * kLanes;
}

// Columns of a block that cut the widest right side evenly.
std::int64_t block_cols_below(const TileShape& shape, std::int64_t most) {
  const std::int64_t cols = std::ranges::max(shape.cols);
  return round_up(ceil_div(cols, ceil_div(cols, most)), kLanes);
}

// Sets of about `rows` rows: groups of one hop, or those of several hops side by side.
void set_rows(const TileProblem& problem, std::int64_t rows, TileParameters& p) {
  const TileShape& shape = problem.shape;
  p.side_rows = std::max<std::int64_t>(rows / 2, shape.row_tile);
  p.piece_rows = p.side_rows;
  fit_rows(shape, p);
  // In two pieces each where arrivals do not take up too many semaphores.
  const std::int64_t in_hop = ceil_div(shape.half_rows(Side::kForward), p.side_rows);
  if (4 * (shape.num_devices - 1) * in_hop <= problem.machine.chip.num_semaphores / 4) {
    p.piece_rows = ceil_div(p.side_rows, 2);
    fit_rows(shape, p);
  }
  const std::int64_t groups = in_hop * shape.num_devices;
  const std::int64_t in_set = std::clamp<std::int64_t>(rows / (2 * p.side_rows), 1, groups);
  p.bodies = {{.groups = static_cast<int>(in_set)}};
  if (groups % in_set != 0) p.bodies.push_back({.groups = static_cast<int>(groups % in_set)});
}

}  // namespace

std::vector<TileParameters> stream_parameters(const TileProblem& problem) {
  const TileShape& shape = problem.shape;
  std::vector<TileParameters> all;
  std::set<std::string> known;
  if (shape.k == kLanes) return all;
  const std::int64_t bytes = tpu::element_bytes(problem.machine.elements.operand);
  TileParameters p;
  p.x_home = schedule::XHome::kHbm;
  p.margin_bytes = margin_bytes(problem.machine.chip);
  p.loads_per_step = 2;
  const std::int64_t least_rows = 2 * shape.row_tile;
  for (std::int64_t rows = 4096; rows >= least_rows; rows /= 2) {
    set_rows(problem, rows, p);
    for (const std::int64_t cols : {2048, 1024, 512, 128}) {
      p.block_cols = block_cols_below(shape, cols);
      for (const std::int64_t block_k : {2048, 512, 128}) {
        p.block_k = block_k_below(shape.k, std::min(block_k, shape.k - kLanes));
        p.y_parts = problem.machine.copy_bytes_per_second > 0 && p.block_k % 512 == 0 ? 4 : 1;
        for (const TileOrder order : {TileOrder::kXMajor, TileOrder::kYMajor}) {
          p.order = order;
          p.x_bytes = 2 * p.bodies[0].groups * 2 * p.side_rows * p.block_k * bytes;
          if (known.insert(to_text(p)).second) all.push_back(p);
        }
      }
    }
  }
  return all;
}

}  // namespace cmm::sim
