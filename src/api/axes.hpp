// The grid of ranks that a list of axes describes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmm/mesh.hpp"

namespace cmm::api {

// Number of ranks. Throws Error(kInvalidArgument); see Mesh::threads.
int check_axes(const std::vector<AxisSize>& axes);

std::string axes_text(const std::vector<AxisSize>& axes);           // "dp=2, tp=4"
std::uint64_t axes_fingerprint(const std::vector<AxisSize>& axes);  // of names, sizes and order

// The ranks of one axis that differ from `rank` in that coordinate only. Ranks count row-major.
struct AxisGroup {
  std::vector<int> members;  // ranks of the mesh, by rank on the axis
  int rank = 0;              // on the axis
  int number = 0;            // among all groups of this axis, 0 .. num_ranks / size - 1
};
AxisGroup axis_group(const std::vector<AxisSize>& axes, std::size_t axis, int rank);

}  // namespace cmm::api
