// The wavefront kernel: one body, driven by a table that is made from a tile schedule. A row of the
// table is a step; a field names what an action of the step acts on, or -1 where there is none.
#pragma once

#include "schedule/tiles.hpp"
#include "tpu/kernels/kernel.hpp"

namespace cmm::tpu {

struct WavefrontOptions {
  Ring ring;
  Extents asked;
  Element element = Element::kBF16;
  Element out_element = Element::kBF16;
  bool rhs_transposed = false;
  int collective_id = 0;
  bool debug = false;
};

// Throws Error(kInvalidArgument) where the schedule and the options do not fit each other, and
// Error(kUnsupported) where the chip cannot hold the kernel: the message has the bytes of each
// buffer, the number of semaphores or the words of the table, and what the chip has.
Kernel wavefront_kernel(const schedule::TileSchedule& schedule, const WavefrontOptions& options,
                        const Chip& chip);

// Extents padded to whole tiles of the chip, of x and of out: what a tile schedule for the problem
// is made for. num_devices, shard_rows, k, cols and row_tile are set, the rest is left to be
// chosen. Throws Error(kInvalidArgument) where extents, ring or element types cannot be right.
schedule::TileShape padded_shape(const WavefrontOptions& options, const Chip& chip);

}  // namespace cmm::tpu
