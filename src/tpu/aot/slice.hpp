// Slices of chips, and which of their devices is which of the mesh: rings along neighbours.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "tpu/aot/device_at.hpp"
#include "tpu/kernels/kernel.hpp"

namespace cmm::tpu::aot {

struct Slice {
  std::string topology;    // as libtpu names it: "v6e:2x4"
  std::vector<int> chips;  // along x, y, z
  int devices_per_chip = 1;
  std::array<bool, 3> wraps = {};  // around: the first chip along the axis is beside the last
  int num_devices() const { return chips[0] * chips[1] * chips[2] * devices_per_chip; }
};

// `extents` in chips, as {2, 4} or {2, 2, 1}; empty: the smallest for so many devices. Throws
// Error(kInvalidArgument), Error(kUnsupported) for a chip that libtpu has no name for.
Slice make_slice(const Chip& chip, const std::vector<int>& extents, int num_devices);

// Where each device of the mesh is to be, such that the rings along the axis run over neighbouring
// chips where that can be. What number a device has there is libtpu's affair.
std::vector<DeviceAt> place_devices(const Slice& slice, const Ring& ring);

// The same for rings of devices that are there already, by their positions in `devices`: each ring
// takes the next `ring_size` of the smallest slice that holds them all, less those of the slice
// that are not among them. Throws Error(kInvalidArgument).
std::vector<int> ring_order(std::span<const DeviceAt> devices, int ring_size);

// Of numbers of devices of the slice, one for each device of the mesh. Throws
// Error(kInvalidArgument): too few or many, out of range, twice the same. libtpu takes all of
// these.
void check_assignment(const Slice& slice, const Ring& ring, std::span<const int> assignment);

// Links that the longest hop between ring neighbours crosses; 0 where all are on one chip.
int longest_hop(const Slice& slice, const Ring& ring, std::span<const DeviceAt> devices);

}  // namespace cmm::tpu::aot
