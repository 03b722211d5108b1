// What a ring of a problem's devices meets on a slice of chips.
//
// On a grid of two or more axes, one of them even, a ring goes from neighbour to neighbour:
//
//   2x4    0 > 1 > 2 > 3        each hop crosses one link, each link carries one hop each way
//          ^           v
//          7 < 6 < 5 < 4
//
// On a line that does not wrap around it goes out by every second chip and back by the others, so
// that a hop crosses two links and a link carries two hops each way; as does the one long hop where
// all axes are odd. With two devices both neighbours are the same one, over one link.
#pragma once

#include <string>
#include <vector>

#include "cmm/tpu_kernel.hpp"
#include "sim/tile_walk.hpp"

namespace cmm::tpu {

struct RingOnSlice {
  int links_per_hop = 1;  // of the slowest hop
  int hops_per_link = 1;  // each way
};
RingOnSlice ring_on_slice(const Chip& chip, const std::vector<int>& slice);

struct MachineOptions {
  std::vector<int> slice;            // empty: usual_slice()
  double copy_bytes_per_second = 0;  // as in sim::TileMachine
};
// Throws Error(kInvalidArgument) where the slice has not as many chips as the ring has devices or
// more axes than the chip's torus, Error(kUnsupported) where the chip does not multiply the
// element.
sim::TileMachine ring_machine(const Problem& problem, const Chip& chip,
                              const MachineOptions& options);

// A device with several cores gives each an even part of its columns, rounded up.
Problem problem_of_core(const Problem& problem, const Chip& chip);

}  // namespace cmm::tpu
