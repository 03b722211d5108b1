// The grid of ranks that a list of axes describes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmm/mesh.hpp"
#include "transport/memory/axis_line.hpp"

namespace cmm::api {

// Number of ranks. Throws Error(kInvalidArgument); see Mesh::threads.
int check_axes(const std::vector<AxisSize>& axes);

std::string axes_text(const std::vector<AxisSize>& axes);           // "dp=2, tp=4"
std::uint64_t axes_fingerprint(const std::vector<AxisSize>& axes);  // of names, sizes and order

// The ranks that differ from `rank` in one coordinate only. Ranks count row-major.
transport::memory::AxisLine axis_line(const std::vector<AxisSize>& axes, std::size_t axis,
                                      int rank);
std::vector<transport::memory::AxisLine> axis_lines(const std::vector<AxisSize>& axes, int rank);

}  // namespace cmm::api
