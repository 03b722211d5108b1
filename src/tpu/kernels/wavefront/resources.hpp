// What the wavefront kernel holds: its operands, slots and semaphores.
//
//   HBM    x [shard_rows, k]                y of each right side       out, gathered x
//   VMEM   x slots [2 x_slots, side_rows, block_k]      a slot is a forward and a backward side
//          y slots [y_slots, block_k, block_cols]       or [y_slots, block_cols, block_k]
//          out slots of each body [2 tiles out_slots, side_rows, cols]
//              a rectangle: a tile of each group, cols = blocks * block_cols
//              a free body: a tile of each op, cols = block_cols
//          accumulator of each body [blocks, 2 groups side_rows, block_cols], where k is split
#pragma once

#include <array>
#include <vector>

#include "schedule/tiles.hpp"
#include "tpu/kernels/wavefront.hpp"

namespace cmm::tpu::wavefront {

struct Resources {
  int table = -1, x = -1;
  std::vector<int> y, out;  // by right side
  int gathered = -1;        // all of x in rank order, where it is an output or x travels through it

  int x_slots = -1, y_slots = -1;
  std::vector<int> out_slots, accumulators;  // by body

  int barrier = -1, second_round = -1;
  std::array<int, 2> departures = {-1, -1}, arrivals = {-1, -1};  // by Side
  int credits = -1;                                               // [2], by Side
  int x_loaded = -1, y_loaded = -1, x_stored = -1;                // by slot
  std::vector<int> stored;                                        // by body, then by slot
};

Resources declare(Builder& builder, const schedule::TileShape& shape,
                  const WavefrontOptions& options, std::int64_t table_words);

// Throws Error(kUnsupported) where the chip cannot hold what has been declared.
void check_capacity(const Program& program, const Chip& chip);

// Tiles of one out slot: the groups of a rectangle, the ops of a free body.
constexpr int tiles_of(const schedule::TileBody& body) {
  return body.free ? body.blocks : body.groups;
}
constexpr std::int64_t tile_cols(const schedule::TileBody& body, std::int64_t block_cols) {
  return body.free ? block_cols : body.blocks * block_cols;
}

}  // namespace cmm::tpu::wavefront
