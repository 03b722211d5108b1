#include "schedule/tiles.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm::schedule {
namespace {

// Columns of a tile in memory: column blocks, k blocks and the parts of a y block are whole tiles.
constexpr std::int64_t kTileCols = 128;

Range cut(std::int64_t index, std::int64_t size, std::int64_t end) {
  return {std::min(index * size, end), std::min((index + 1) * size, end)};
}

template <class... Parts>
void require(bool holds, const Parts&... parts) {
  if (!holds) throw Error(ErrorCode::kInvalidArgument, cat("tile shape: ", parts...));
}

void require_multiple(const char* field, std::int64_t value, std::int64_t unit, const char* why) {
  require(value > 0 && value % unit == 0, field, " is ", value,
          "; it must be a positive multiple of ", unit, ", ", why);
}

void check_body(const TileShape& shape, std::size_t i) {
  const TileBody& body = shape.bodies[i];
  const auto name = [i](const char* field) { return cat("bodies[", i, "].", field); };
  require(body.groups >= 1, name("groups"), " is ", body.groups, "; it must be at least 1");
  require(body.blocks >= 1, name("blocks"), " is ", body.blocks, "; it must be at least 1");
  require(body.out_slots >= 1, name("out_slots"), " is ", body.out_slots,
          "; it must be at least 1");
  require(!body.free || body.groups == 1, name("groups"), " is ", body.groups,
          "; a free body names each of its groups by itself: it must be 1");
  require(body.groups <= shape.x_slots, name("groups"), " is ", body.groups,
          "; they lie in x slots side by side, and there are ", shape.x_slots);
}

}  // namespace

std::int64_t TileShape::half_rows(Side side) const {
  const std::int64_t forward = ceil_div(shard_rows / row_tile, 2) * row_tile;
  return side == Side::kForward ? forward : shard_rows - forward;
}

std::int64_t TileShape::num_pieces(Side side) const {
  return ceil_div(half_rows(side), piece_rows);
}

std::int64_t TileShape::num_groups() const {
  return ceil_div(half_rows(Side::kForward), side_rows);
}

std::int64_t TileShape::num_k_blocks() const { return k / block_k; }

int TileShape::num_blocks() const {
  std::int64_t blocks = 0;
  for (const std::int64_t columns : cols) blocks += ceil_div(columns, block_cols);
  return static_cast<int>(blocks);
}

Range TileShape::piece(Side side, std::int64_t piece) const {
  return cut(piece, piece_rows, half_rows(side));
}

Range TileShape::group_rows(Side side, std::int64_t group) const {
  return cut(group, side_rows, half_rows(side));
}

Range TileShape::group_pieces(Side side, std::int64_t group) const {
  return cut(group, side_rows / piece_rows, num_pieces(side));
}

std::int64_t TileShape::right_side_of(int block) const {
  std::int64_t right_side = 0;
  std::int64_t first = 0;
  while (first + ceil_div(cols[right_side], block_cols) <= block)
    first += ceil_div(cols[right_side++], block_cols);
  return right_side;
}

Range TileShape::block_columns(int block) const {
  const std::int64_t right_side = right_side_of(block);
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < right_side; ++i) first += ceil_div(cols[i], block_cols);
  return cut(block - first, block_cols, cols[right_side]);
}

bool TileShape::needs_credits() const {
  return x_home == XHome::kVmem && num_devices > 1 && x_slots < num_devices * num_groups();
}

std::int64_t TileShape::num_arrivals(Side side) const {
  if (num_devices == 1) return 0;
  if (x_home == XHome::kHbm) return (num_devices - 1) * num_pieces(side);
  return x_slots * std::min(side_rows / piece_rows, num_pieces(side));
}

std::int64_t TileShape::arrival(Side side, int hop, std::int64_t piece, int slot) const {
  if (x_home == XHome::kHbm) return (hop - 1) * num_pieces(side) + piece;
  return slot * std::min(side_rows / piece_rows, num_pieces(side)) +
         piece % (side_rows / piece_rows);
}

void check_tile_shape(const TileShape& shape) {
  require(shape.num_devices >= 1, "num_devices is ", shape.num_devices, "; it must be at least 1");
  require(shape.row_tile >= 1, "row_tile is ", shape.row_tile, "; it must be at least 1");
  require_multiple("shard_rows", shape.shard_rows, shape.row_tile, "the rows of a tile");
  require_multiple("k", shape.k, kTileCols, "the columns of a tile");
  require(!shape.cols.empty(), "there is no right side");
  for (const std::int64_t columns : shape.cols)
    require_multiple("cols", columns, kTileCols, "the columns of a tile");
  require_multiple("piece_rows", shape.piece_rows, shape.row_tile, "the rows of a tile");
  require_multiple("side_rows", shape.side_rows, shape.piece_rows, "the rows of a piece");
  require_multiple("block_cols", shape.block_cols, kTileCols, "the columns of a tile");
  require_multiple("block_k", shape.block_k, kTileCols, "the columns of a tile");
  require(shape.k % shape.block_k == 0, "block_k is ", shape.block_k, "; it must divide k, ",
          shape.k);
  require(shape.block_k == shape.k || shape.x_home == XHome::kHbm, "block_k is ", shape.block_k,
          "; x that stays in VMEM is multiplied over all of k, ", shape.k);
  require(shape.x_slots >= 1, "x_slots is ", shape.x_slots, "; it must be at least 1");
  require(shape.y_slots >= 1, "y_slots is ", shape.y_slots, "; it must be at least 1");
  require(shape.departures >= 1, "departures is ", shape.departures, "; it must be at least 1");
  require(shape.y_parts >= 1 && shape.block_k % (shape.y_parts * kTileCols) == 0, "y_parts is ",
          shape.y_parts, "; it must cut block_k, ", shape.block_k, ", in parts of whole tiles of ",
          kTileCols);
  require(!shape.bodies.empty(), "there is no body");
  for (std::size_t i = 0; i < shape.bodies.size(); ++i) check_body(shape, i);
}

}  // namespace cmm::schedule
