#include "sim/slice_network.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/text.hpp"

namespace cmm::sim {
namespace {

std::vector<int> strides_of(const std::vector<int>& chips) {
  std::vector<int> strides(chips.size(), 1);
  for (std::size_t axis = chips.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * chips[axis];
  return strides;
}

// A path from neighbour to neighbour through all chips of some axes of a slice, as offsets: the
// last axis to and fro, one line after the other.
std::vector<int> path_through(const std::vector<int>& sizes, const std::vector<int>& strides) {
  std::vector<int> path = {0};
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    std::vector<int> longer;
    for (int i = 0; i < sizes[axis]; ++i) {
      for (const int offset : path) longer.push_back(offset + i * strides[axis]);
      std::ranges::reverse(path);
    }
    path = std::move(longer);
  }
  return path;
}

// A path of rows and a path of columns, of which the rows are even in number or the columns a ring:
// along the rows from column 1 on, to and fro, then back down column 0.
std::vector<int> ring_on_grid(const std::vector<int>& rows, const std::vector<int>& columns) {
  std::vector<int> ring;
  std::vector<int> line(columns.begin() + 1, columns.end());
  for (const int row : rows) {
    for (const int column : line) ring.push_back(row + column);
    std::ranges::reverse(line);
  }
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) ring.push_back(*row + columns[0]);
  std::ranges::rotate(ring, ring.end() - 1);  // the corner first
  return ring;
}

std::vector<int> folded(const std::vector<int>& path) {
  std::vector<int> ring;
  for (std::size_t i = 0; i < path.size(); i += 2) ring.push_back(path[i]);
  for (std::size_t i = path.size() / 2; i-- > 0;) ring.push_back(path[2 * i + 1]);
  return ring;
}

}  // namespace

SliceMachine slice_machine(const tpu::Chip& chip, const std::vector<int>& chips) {
  SliceMachine machine{chips, {}, chip.link_bytes_per_second, chip.hop_seconds};
  for (const int size : chips) machine.wraps.push_back(size % chip.wrap_multiple == 0);
  return machine;
}

std::vector<int> ring_of_slice(const SliceMachine& machine) {
  const std::vector<int> all_strides = strides_of(machine.chips);
  std::vector<int> sizes, strides;  // of axes that are longer than one chip
  std::vector<bool> wraps;
  for (std::size_t axis = 0; axis < machine.chips.size(); ++axis) {
    if (machine.chips[axis] == 1) continue;
    sizes.push_back(machine.chips[axis]);
    strides.push_back(all_strides[axis]);
    wraps.push_back(machine.wraps[axis]);
  }
  const auto along = [&](std::ptrdiff_t axis) {
    return path_through({sizes[axis]}, {strides[axis]});
  };
  const auto across = [&](std::ptrdiff_t axis) {
    std::vector<int> other_sizes = sizes, other_strides = strides;
    other_sizes.erase(other_sizes.begin() + axis);
    other_strides.erase(other_strides.begin() + axis);
    return path_through(other_sizes, other_strides);
  };
  const auto even = std::ranges::find_if(sizes, [](int size) { return size % 2 == 0; });
  const auto ring = std::ranges::find(wraps, true);
  if (sizes.size() == 1 && wraps[0]) return along(0);
  if (sizes.size() > 1 && even != sizes.end())
    return ring_on_grid(along(even - sizes.begin()), across(even - sizes.begin()));
  if (sizes.size() > 1 && ring != wraps.end())
    return ring_on_grid(across(ring - wraps.begin()), along(ring - wraps.begin()));
  return folded(path_through(sizes, strides));
}

SliceNetwork::SliceNetwork(const SliceMachine& machine)
    : machine_(machine),
      strides_(strides_of(machine.chips)),
      chip_of_rank_(ring_of_slice(machine)) {
  const int num_chips = num_ranks(), num_axes = static_cast<int>(machine.chips.size());
  std::vector<int> rank_of_chip(chip_of_rank_.size());
  for (int rank = 0; rank < num_chips; ++rank) rank_of_chip[chip_of_rank_[rank]] = rank;
  for (int chip = 0; chip < num_chips; ++chip)
    for (int axis = 0; axis < num_axes; ++axis)
      for (const bool up : {true, false}) {
        const int other = neighbour(chip, {axis, up});
        link_of_.push_back(other < 0 ? -1 : static_cast<int>(links_.size()));
        if (other >= 0)
          links_.push_back({cat("from rank ", rank_of_chip[chip], " to rank ", rank_of_chip[other]),
                            machine.link_bytes_per_second});
      }
}

int SliceNetwork::coordinate(int chip, int axis) const {
  return chip / strides_[axis] % machine_.chips[axis];
}

// An axis of two chips has one link between them, wrapped around or not.
int SliceNetwork::neighbour(int chip, Step step) const {
  const int size = machine_.chips[step.axis];
  const int to = coordinate(chip, step.axis) + (step.up ? 1 : -1);
  const bool outside = to < 0 || to == size;
  if (outside && (!machine_.wraps[step.axis] || size <= 2)) return -1;
  return chip + ((to + size) % size - coordinate(chip, step.axis)) * strides_[step.axis];
}

int SliceNetwork::link(int chip, Step step) const {
  const int num_axes = static_cast<int>(machine_.chips.size());
  return link_of_[(chip * num_axes + step.axis) * 2 + (step.up ? 0 : 1)];
}

void SliceNetwork::find_route(int from, int to, Route& route) const {
  route.links.clear();
  int chip = chip_of_rank_[from];
  const int end = chip_of_rank_[to];
  for (int axis = 0; axis < static_cast<int>(machine_.chips.size()); ++axis) {
    const int size = machine_.chips[axis];
    const int ahead = (coordinate(end, axis) - coordinate(chip, axis) + size) % size;
    const bool around = machine_.wraps[axis] && size > 2;
    const bool up = around ? 2 * ahead <= size : coordinate(end, axis) > coordinate(chip, axis);
    while (coordinate(chip, axis) != coordinate(end, axis)) {
      route.links.push_back(link(chip, {axis, up}));
      chip = neighbour(chip, {axis, up});
    }
  }
  route.latency_seconds = machine_.hop_seconds * static_cast<double>(route.links.size());
}

std::vector<Site> SliceNetwork::sites() const {
  std::vector<Site> sites;
  if (num_ranks() == 1) return sites;
  for (int rank = 0; rank < num_ranks(); ++rank) {
    int num_links = 0;  // as many lead in as lead out
    for (int axis = 0; axis < static_cast<int>(machine_.chips.size()); ++axis)
      for (const bool up : {true, false})
        num_links += link(chip_of_rank_[rank], {axis, up}) >= 0 ? 1 : 0;
    sites.push_back({rank, 1, num_links * machine_.link_bytes_per_second});
  }
  return sites;
}

}  // namespace cmm::sim
