#include "api/axes.hpp"

#include <set>

#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm::api {

using transport::memory::AxisLine;

int check_axes(const std::vector<AxisSize>& axes) {
  if (axes.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "a mesh needs at least one axis, e.g. {{\"tp\", 4}}");
  }
  std::int64_t num_ranks = 1;
  std::set<std::string> names;
  for (const AxisSize& axis : axes) {
    if (axis.name.empty() || !names.insert(axis.name).second) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("axis name '", axis.name, "' is empty or repeated; each axis needs its own"));
    }
    if (axis.size < 1) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("axis '", axis.name, "' has size ", axis.size, "; it must be at least 1"));
    }
    num_ranks *= axis.size;
    if (num_ranks > kMaxRanks) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("the mesh has more than ", kMaxRanks, " ranks at axis '", axis.name, "'"));
    }
  }
  return static_cast<int>(num_ranks);
}

std::string axes_text(const std::vector<AxisSize>& axes) {
  return joined(axes, ", ", [](const AxisSize& axis) { return cat(axis.name, "=", axis.size); });
}

// FNV-1a.
std::uint64_t axes_fingerprint(const std::vector<AxisSize>& axes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&hash](const void* data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
      hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
    }
  };
  for (const AxisSize& axis : axes) {
    const std::uint64_t length = axis.name.size();
    add(&length, sizeof length);
    add(axis.name.data(), axis.name.size());
    add(&axis.size, sizeof axis.size);
  }
  return hash;
}

AxisLine axis_line(const std::vector<AxisSize>& axes, std::size_t axis, int rank) {
  // Neighbours along the axis lie `stride` apart.
  int stride = 1;
  for (std::size_t later = axis + 1; later < axes.size(); ++later) stride *= axes[later].size;
  const int size = axes[axis].size;
  AxisLine line;
  line.rank = rank / stride % size;
  line.number = rank / (stride * size) * stride + rank % stride;
  const int first = rank - line.rank * stride;
  for (int i = 0; i < size; ++i) line.members.push_back(first + i * stride);
  return line;
}

std::vector<AxisLine> axis_lines(const std::vector<AxisSize>& axes, int rank) {
  std::vector<AxisLine> lines;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    lines.push_back(axis_line(axes, axis, rank));
  }
  return lines;
}

}  // namespace cmm::api
