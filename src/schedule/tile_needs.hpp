// What a kernel that walks a tile schedule needs of a chip.
#pragma once

#include <cstdint>

#include "cmm/tpu_chip.hpp"
#include "schedule/tiles.hpp"

namespace cmm::schedule {

// Elements of the operands and of what is stored; sums are of 4 bytes.
struct TileElements {
  tpu::Element operand = tpu::Element::kBF16;
  tpu::Element out = tpu::Element::kBF16;
};

std::int64_t x_slot_bytes(const TileShape& shape, const TileElements& elements);
std::int64_t y_slot_bytes(const TileShape& shape, const TileElements& elements);
// Out slots of all bodies, and their accumulators where there are several k blocks.
std::int64_t out_bytes(const TileShape& shape, const TileElements& elements);
std::int64_t vmem_bytes(const TileShape& shape, const TileElements& elements);

// A kernel's own: arrivals, departures, loads of each x and y slot, stores of each out slot, stores
// of x, credits, and the second round of the entry.
std::int64_t num_semaphores(const TileShape& shape);

// SMEM that the compiler keeps: it refused a table 172 bytes below all of it.
inline constexpr std::int64_t kReservedSmemBytes = 1024;

// Words of the table that a kernel walks, with a word for the size of every copy: where all copies
// of a kind are alike the kernel's own has fewer.
std::int64_t most_table_words(const TileSchedule& schedule);
// Of each row, for its product alone.
std::int64_t least_row_words(const TileShape& shape);

// The most actions of a kind in any list of any step: a row of a table has as many fields.
struct TileFields {
  int sends = 0;  // of one side
  int x_loads = 0;
  int y_loads = 0;
  int x_stores = 0;
  int awaits = 0;       // of all kinds, in one list
  int out_groups = 0;   // output rows of a body's product that are stored apart
  int wide_blocks = 0;  // column blocks side by side in a body
};
TileFields count_fields(const TileSchedule& schedule);

}  // namespace cmm::schedule
