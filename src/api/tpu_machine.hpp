// What a ring of a problem's devices meets on a slice of chips. sim/slice_network.hpp draws how it
// is laid: from neighbour to neighbour, so that each hop crosses one link and each link carries one
// hop each way, or folded, so that a hop crosses two links and a link carries two hops each way.
// With two devices both neighbours are the same one, over one link.
#pragma once

#include <string>
#include <vector>

#include "cmm/tpu_kernel.hpp"
#include "sim/tile_walk.hpp"

namespace cmm::tpu {

struct RingOnSlice {
  int links_per_hop = 1;  // of the slowest hop
  int hops_per_link = 1;  // of the busiest link, each way; hops go forward and backward
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
