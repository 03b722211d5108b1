// The ranks of a mesh that lie in one line along an axis, and where the control memory of their
// group begins: one block for each line along each axis, those of the first axis first.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/memory/layout.hpp"

namespace cmm::transport::memory {

struct AxisLine {
  std::vector<int> members;  // ranks of the mesh, by rank on the axis
  int rank = 0;              // on the axis
  int number = 0;            // among all lines along this axis, 0 .. number of ranks / size - 1
};

// Of all lines along the first `num_axes` axes. `lines`: those of one rank, by axis.
inline std::int64_t control_bytes(const std::vector<AxisLine>& lines, std::size_t num_axes,
                                  int num_ranks) {
  std::int64_t bytes = 0;
  for (std::size_t axis = 0; axis < num_axes; ++axis) {
    const auto size = static_cast<int>(lines[axis].members.size());
    bytes += num_ranks / size * control_bytes(size);
  }
  return bytes;
}

// Where the block of lines[axis] begins.
inline std::int64_t control_offset(const std::vector<AxisLine>& lines, std::size_t axis,
                                   int num_ranks) {
  const auto size = static_cast<int>(lines[axis].members.size());
  return control_bytes(lines, axis, num_ranks) + lines[axis].number * control_bytes(size);
}

}  // namespace cmm::transport::memory
