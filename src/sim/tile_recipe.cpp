#include "sim/tile_recipe.hpp"

#include <algorithm>
#include <numeric>

namespace cmm::sim {
namespace {

using schedule::Side;
using schedule::TileBody;
using schedule::TileShape;
using schedule::XHome;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

TileBody rectangle(int groups, int blocks) {
  const int out_slots = groups * blocks == 1 ? 4 : 2;
  return {.groups = groups, .blocks = blocks, .out_slots = out_slots};
}
TileBody free_body(int blocks) { return {.blocks = blocks, .free = true}; }

struct Rows {
  std::int64_t side = 0;
  std::int64_t piece = 0;
};

// Sides of about so many rows that cut a half evenly, each in so many pieces.
Rows rows_near(const TileShape& shape, std::int64_t side, std::int64_t pieces) {
  const std::int64_t half = shape.half_rows(Side::kForward);
  const std::int64_t groups = ceil_div(half, side);
  const std::int64_t most = ceil_div(half, shape.row_tile);
  pieces = std::min(pieces, most);
  const std::int64_t rows = round_up(ceil_div(half, groups), shape.row_tile * pieces);
  return {rows, rows / pieces};
}

std::int64_t num_blocks(const TileShape& shape, std::int64_t block_cols) {
  std::int64_t blocks = 0;
  for (const std::int64_t cols : shape.cols) blocks = std::gcd(blocks, ceil_div(cols, block_cols));
  return blocks;
}

// How many blocks side by side: a divisor of their number where there is one.
int blocks_side_by_side(std::int64_t num_blocks) {
  for (const int blocks : {5, 7, 4, 6, 3}) {
    if (num_blocks % blocks == 0) return blocks;
  }
  return static_cast<int>(std::min<std::int64_t>(num_blocks, 4));
}

}  // namespace

std::int64_t margin_bytes(const tpu::Chip& chip) { return std::min(8 * kMiB, chip.vmem_bytes / 4); }

std::vector<std::vector<TileBody>> bodies_for(const TileShape& shape, std::int64_t side_rows,
                                              std::int64_t block_cols) {
  const std::int64_t half = shape.half_rows(Side::kForward);
  const int in_hop = static_cast<int>(ceil_div(half, side_rows));
  const int in_all = in_hop * shape.num_devices;
  const int b = blocks_side_by_side(num_blocks(shape, block_cols));
  std::vector<std::vector<TileBody>> all;
  if (in_all >= 2) {
    const int groups = std::clamp(in_hop, 2, 4);
    all.push_back({rectangle(1, 1), free_body(4), rectangle(groups, b)});
    all.push_back({rectangle(1, 1), free_body(4), rectangle(2, b)});
    all.push_back({rectangle(1, 1), free_body(std::max(b, 2)), rectangle(2, b)});
    all.push_back({rectangle(1, 1), free_body(4), rectangle(2, 8)});
    all.push_back({rectangle(1, 1), rectangle(2, b)});
    all.push_back({free_body(2), rectangle(groups, b)});
    all.push_back({rectangle(1, 1), free_body(3), rectangle(2, b)});
    all.push_back({rectangle(1, 1), rectangle(1, b), rectangle(2, b)});
  }
  if (b > 1) {
    all.push_back({rectangle(1, 1), free_body(4)});
    all.push_back({rectangle(1, 1), free_body(b)});
    all.push_back({rectangle(1, 1), rectangle(1, b)});
  }
  all.push_back({rectangle(1, 1)});
  // Gather first, then multiply with all rows at once while y streams: for few rows.
  if (2 * side_rows * in_all <= 1024 && in_all <= 32) {
    all.push_back({rectangle(in_all, 1)});
    all.push_back({rectangle(in_all, 1), rectangle(in_all, 4)});
  }
  return all;
}

std::vector<TileMemory> memories(const TileProblem& problem) {
  const TileShape& shape = problem.shape;
  const tpu::Chip& chip = problem.machine.chip;
  const std::int64_t bytes = tpu::element_bytes(problem.machine.elements.operand);
  const std::int64_t out = std::min(chip.vmem_bytes / 8, 8 * kMiB);
  const std::int64_t room = chip.vmem_bytes - margin_bytes(chip) - out;
  const std::int64_t x = shape.num_devices * shape.shard_rows * shape.k * bytes;
  const std::int64_t hop = shape.shard_rows * shape.k * bytes;
  std::int64_t y = 0;
  for (const std::int64_t cols : shape.cols) y += cols * shape.k * bytes;
  if (x + y <= room) return {{}};
  std::vector<TileMemory> all;
  // What a ring of x slots needs at least: a hop and a group more, or just some groups where
  // nothing is forwarded from them.
  const std::int64_t ring = shape.num_devices > 2 ? hop + hop / 2 : std::min(hop, room / 8);
  if (y + ring <= room) all.push_back({.x_bytes = room - y});
  if (x <= room * 3 / 4) all.push_back({});
  const std::int64_t x_bytes = room * 45 / 100;
  const int passes = static_cast<int>(std::max<std::int64_t>(2, ceil_div(x, x_bytes)));
  for (const int more : {1, 2}) {
    if (x_bytes >= ring) all.push_back({.x_bytes = x_bytes, .passes = passes * more});
    all.push_back({.x_home = XHome::kHbm, .x_bytes = x_bytes, .passes = passes * more});
  }
  return all;
}

void fit_rows(const TileShape& shape, TileParameters& parameters) {
  const Rows rows =
      rows_near(shape, parameters.side_rows, ceil_div(parameters.side_rows, parameters.piece_rows));
  parameters.side_rows = rows.side;
  parameters.piece_rows = rows.piece;
}

TileParameters parameters_of(const TileProblem& problem, const TileRecipe& recipe) {
  TileParameters p;
  const Rows rows = rows_near(problem.shape, recipe.side_rows, recipe.pieces);
  p.side_rows = rows.side;
  p.piece_rows = rows.piece;
  p.block_cols = recipe.mxu_tiles * problem.machine.chip.mxu_tile;
  const auto bodies = bodies_for(problem.shape, p.side_rows, p.block_cols);
  p.bodies = bodies[std::min(recipe.bodies, bodies.size() - 1)];
  p.order = recipe.order;
  p.x_home = recipe.memory.x_home;
  p.x_bytes = recipe.memory.x_bytes;
  p.passes = recipe.memory.passes;
  p.sends_per_step = recipe.sends_per_step;
  p.loads_per_step = recipe.loads_per_step;
  p.y_ahead = recipe.y_ahead;
  // One copy that may not draw all of HBM is worth several.
  p.y_parts = problem.machine.copy_bytes_per_second > 0 && problem.shape.k % 512 == 0 ? 4 : 1;
  p.margin_bytes = margin_bytes(problem.machine.chip);
  return p;
}

std::vector<TileParameters> last_resorts(const TileProblem& problem) {
  const TileShape& shape = problem.shape;
  std::vector<TileParameters> all;
  TileParameters p;
  p.margin_bytes = margin_bytes(problem.machine.chip);
  p.block_cols = tpu::kLanes;
  const std::int64_t bytes = tpu::element_bytes(problem.machine.elements.operand);
  const std::int64_t room = problem.machine.chip.vmem_bytes - p.margin_bytes;
  // One block of y and its products must fit beside x.
  const std::int64_t block = p.block_cols * shape.k * bytes + kMiB / 4;
  for (const XHome home : {XHome::kVmem, XHome::kHbm}) {
    for (std::int64_t side = 128; side >= 1; side /= 2) {
      const Rows rows = rows_near(shape, std::max<std::int64_t>(side, shape.row_tile), 1);
      p.side_rows = rows.side;
      p.piece_rows = rows.piece;
      p.x_home = home;
      p.bodies = {rectangle(1, 1)};
      const std::int64_t slot = 2 * p.side_rows * shape.k * bytes;
      const std::int64_t in_hop = ceil_div(shape.half_rows(Side::kForward), p.side_rows);
      const std::int64_t groups = in_hop * shape.num_devices;
      for (const std::int64_t passes : {std::int64_t{1}, std::int64_t{4}, groups / 4, groups}) {
        if (passes < 1 || passes > groups) continue;
        p.passes = static_cast<int>(passes);
        p.x_bytes = std::clamp(room - block, slot, (ceil_div(groups, passes) + in_hop + 1) * slot);
        all.push_back(p);
      }
      if (side <= shape.row_tile) break;
    }
  }
  return all;
}

}  // namespace cmm::sim
