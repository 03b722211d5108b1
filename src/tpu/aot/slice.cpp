#include "tpu/aot/slice.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "base/check.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm::tpu::aot {
namespace {

using Extent3 = std::array<int, 3>;

// How libtpu sees a chip: other than a user of v4, it has two devices there.
struct Family {
  std::string_view chip, topology;
  int devices_per_chip, dims;
};
constexpr std::array<Family, 5> kFamilies = {{{"v4", "v4", 2, 3},
                                              {"v5e", "v5e", 1, 2},
                                              {"v5p", "v5p", 1, 3},
                                              {"v6e", "v6e", 1, 2},
                                              {"7x", "tpu7x", 2, 3}}};

const Family& family_of(const Chip& chip) {
  for (const Family& family : kFamilies) {
    if (family.chip == chip.name) return family;
  }
  throw Error(ErrorCode::kUnsupported, cat("libtpu has no chip ", chip.name, "; it compiles for ",
                                           joined(kFamilies, ", ", &Family::chip)));
}

// Hosts have 2 x 2 chips: a slice is made of whole hosts. The factors of two go where the extent
// is smallest, so that slices are as square as can be.
std::vector<int> smallest_slice(const Family& family, int num_devices) {
  std::vector<int> extents = {2, 2};
  if (family.dims == 3) extents.push_back(1);
  const auto devices = [&] {
    int all = family.devices_per_chip;
    for (const int extent : extents) all *= extent;
    return all;
  };
  while (devices() < num_devices) *std::min_element(extents.rbegin(), extents.rend()) *= 2;
  return extents;
}

// `length` cells of a grid [rows, columns] such that each, and the first after the last, is beside
// the one before it: row 0 ahead, then through pairs of rows in turns, each but for column 0, which
// leads up again. The last rows of pairs are as wide as is left. There is such a cycle for every
// even length of at least 4 that fits, and for two cells in a row.
//
//   length 14 of 4 x 4:    > > > v
//                          ^ v < <
//                          ^ > v
//                          ^ < <
using Cell = std::array<int, 2>;
std::optional<std::vector<Cell>> cycle_along(int rows, int columns, int length) {
  if (length < 1) return std::nullopt;
  if (length == 1) return std::vector<Cell>{{0, 0}};
  if (length == 2) return std::vector<Cell>{{0, 0}, {rows > 1 ? 1 : 0, rows > 1 ? 0 : 1}};
  if (length % 2 != 0 || rows < 2 || columns < 2) return std::nullopt;
  const int half = length / 2;
  const int num_pairs = (half + columns - 1) / columns;
  if (2 * num_pairs > rows) return std::nullopt;
  std::vector<int> widths(static_cast<std::size_t>(num_pairs), columns);
  widths.back() = half - (num_pairs - 1) * columns;
  if (widths.back() == 1) {  // column 0 is the way back: a turn needs one more
    if (columns < 3) return std::nullopt;
    --widths.front();
    ++widths.back();
  }
  std::vector<Cell> cells = {{0, 0}};
  for (int row = 0; row < 2 * num_pairs; ++row) {
    const int width = widths[static_cast<std::size_t>(row / 2)];
    for (int i = 1; i < width; ++i) cells.push_back({row, row % 2 == 1 ? width - i : i});
  }
  for (int row = 2 * num_pairs - 1; row > 0; --row) cells.push_back({row, 0});
  return cells;
}
std::optional<std::vector<Cell>> cycle(int rows, int columns, int length) {
  if (auto cells = cycle_along(rows, columns, length)) return cells;
  auto cells = cycle_along(columns, rows, length);
  if (cells) {
    for (Cell& cell : *cells) std::swap(cell[0], cell[1]);
  }
  return cells;
}

int volume(Extent3 box) { return box[0] * box[1] * box[2]; }

// All chips of a box, each beside the one before it: rows in turns, planes in turns.
std::vector<Extent3> snake(Extent3 box) {
  std::vector<Extent3> chips;
  for (int z = 0; z < box[2]; ++z) {
    for (int i = 0; i < box[1]; ++i) {
      const int y = z % 2 == 0 ? i : box[1] - 1 - i;
      for (int j = 0; j < box[0]; ++j) {
        const bool ahead = (z * box[1] + i) % 2 == 0;
        chips.push_back({ahead ? j : box[0] - 1 - j, y, z});
      }
    }
  }
  return chips;
}

// `length` chips of a box as a cycle, where there is one: a cycle over one extent and a snake over
// the two others; or a line of all chips along an axis that wraps around.
std::optional<std::vector<Extent3>> closed(const Slice& slice, Extent3 box, int length) {
  for (std::size_t d = 0; d < 3; ++d) {
    const bool is_line = box[d] == volume(box) && box[d] == length;
    if (is_line && slice.wraps[d] && box[d] == slice.chips[d]) return snake(box);
  }
  for (const int first : {1, 2, 0}) {  // x runs fastest where it can
    const int a = (first + 1) % 3, b = (first + 2) % 3;
    Extent3 plane = {box[static_cast<std::size_t>(a)], box[static_cast<std::size_t>(b)], 1};
    const std::vector<Extent3> order = snake(plane);
    const auto cells =
        cycle(box[static_cast<std::size_t>(first)], static_cast<int>(order.size()), length);
    if (!cells) continue;
    std::vector<Extent3> chips;
    for (const Cell& cell : *cells) {
      const Extent3& at = order[static_cast<std::size_t>(cell[1])];
      Extent3 chip{};
      chip[static_cast<std::size_t>(first)] = cell[0];
      chip[static_cast<std::size_t>(a)] = at[0];
      chip[static_cast<std::size_t>(b)] = at[1];
      chips.push_back(chip);
    }
    return chips;
  }
  return std::nullopt;
}

// A box of `length` chips that tiles the slice and has a cycle.
std::optional<Extent3> ring_box(const Slice& slice, int length) {
  for (int z = 1; z <= slice.chips[2]; ++z) {
    for (int y = 1; y <= slice.chips[1]; ++y) {
      for (int x = 1; x <= slice.chips[0]; ++x) {
        const Extent3 box = {x, y, z};
        const bool tiles =
            slice.chips[0] % x == 0 && slice.chips[1] % y == 0 && slice.chips[2] % z == 0;
        if (tiles && volume(box) == length && closed(slice, box, length)) return box;
      }
    }
  }
  return std::nullopt;
}

// The only ring of a slice that it does not fill. An odd cycle is none in a grid: it is an even
// one that leaves a chip out. Where a chip has two devices, a path there and back is one.
std::optional<std::vector<DeviceAt>> only_ring(const Slice& slice, Extent3 all, int ring_size) {
  std::vector<DeviceAt> order;
  const auto add = [&](const Extent3& chip, int core) {
    order.push_back({.chip = {chip[0], chip[1], chip[2]}, .core = core});
  };
  if (slice.devices_per_chip == 1) {
    const int length = ring_size + (ring_size > 2 ? ring_size % 2 : 0);
    const auto chips = closed(slice, all, length);
    if (!chips) return std::nullopt;
    for (const Extent3& chip : *chips) add(chip, 0);
  } else {
    const std::vector<Extent3> path = snake(all);
    const int there = (ring_size + 1) / 2;
    for (int i = 0; i < there; ++i) add(path[static_cast<std::size_t>(i)], 0);
    for (int i = ring_size - there; i-- > 0;) add(path[static_cast<std::size_t>(i)], 1);
  }
  order.resize(static_cast<std::size_t>(ring_size));
  return order;
}

// Devices of the slice in an order in which each ring takes the next `ring_size`: all of them, or,
// of an `only` ring, its own.
std::vector<DeviceAt> ring_order(const Slice& slice, int ring_size, bool only) {
  const Extent3 all = {slice.chips[0], slice.chips[1], slice.chips[2]};
  const int per_chip = slice.devices_per_chip;
  std::vector<DeviceAt> order;
  const auto add = [&](Extent3 chip) {
    for (int core = 0; core < per_chip; ++core) {
      order.push_back({.chip = {chip[0], chip[1], chip[2]}, .core = core});
    }
  };
  const int in_ring = ring_size % per_chip == 0 ? ring_size / per_chip : 0;
  if (const auto box = ring_box(slice, in_ring)) {
    const auto chips = closed(slice, *box, in_ring);
    for (int z = 0; z < all[2]; z += (*box)[2]) {
      for (int y = 0; y < all[1]; y += (*box)[1]) {
        for (int x = 0; x < all[0]; x += (*box)[0]) {
          for (const Extent3& chip : *chips) add({x + chip[0], y + chip[1], z + chip[2]});
        }
      }
    }
    return order;
  }
  if (only) {
    if (const auto chips = closed(slice, all, in_ring)) {
      for (const Extent3& chip : *chips) add(chip);
      return order;
    }
    if (auto devices = only_ring(slice, all, ring_size)) return *std::move(devices);
  }
  for (const Extent3& chip : closed(slice, all, volume(all)).value_or(snake(all))) add(chip);
  return order;
}

// Devices of the mesh, ring by ring.
std::vector<std::vector<int>> rings_of(const Ring& ring) {
  const int stride = ring.stride(), size = ring.size();
  std::vector<std::vector<int>> rings;
  for (int first = 0; first < ring.num_devices(); ++first) {
    if (first / stride % size != 0) continue;
    rings.emplace_back();
    for (int i = 0; i < size; ++i) rings.back().push_back(first + i * stride);
  }
  return rings;
}

}  // namespace

Slice make_slice(const Chip& chip, const std::vector<int>& extents, int num_devices) {
  const Family& family = family_of(chip);
  if (!extents.empty() && static_cast<int>(extents.size()) != family.dims) {
    throw Error(
        ErrorCode::kInvalidArgument,
        cat("slice ", joined(extents, "x"), " of ", chip.name, " has ", extents.size(),
            " extents; give ", family.dims, ", as in ", family.dims == 2 ? "2x4" : "2x2x1"));
  }
  std::vector<int> chips = extents.empty() ? smallest_slice(family, num_devices) : extents;
  constexpr int kMostChips = 16384;
  std::int64_t all = 1;
  for (const int extent : chips) {
    all *= std::max(extent, 0);
    if (extent < 1 || all > kMostChips) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("slice ", joined(chips, "x"), " has extents that are no slice of chips"));
    }
  }
  Slice slice{.topology = cat(family.topology, ":", joined(chips, "x")),
              .chips = chips,
              .devices_per_chip = family.devices_per_chip};
  for (std::size_t d = 0; d < chips.size(); ++d) {
    slice.wraps[d] = chips[d] % chip.wrap_multiple == 0;
  }
  slice.chips.resize(3, 1);
  if (slice.num_devices() < num_devices) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("slice ", slice.topology, " has ", slice.num_devices(), " devices, the mesh ",
                    num_devices, "; give a larger slice or a smaller mesh"));
  }
  return slice;
}

std::vector<DeviceAt> place_devices(const Slice& slice, const Ring& ring) {
  const std::vector<DeviceAt> order =
      ring_order(slice, ring.size(), ring.size() == ring.num_devices());
  CMM_DCHECK(static_cast<int>(order.size()) >= ring.num_devices());
  std::vector<DeviceAt> places(static_cast<std::size_t>(ring.num_devices()));
  std::size_t next = 0;
  for (const std::vector<int>& of_ring : rings_of(ring)) {
    for (const int device : of_ring) places[static_cast<std::size_t>(device)] = order[next++];
  }
  return places;
}

std::vector<int> ring_order(std::span<const DeviceAt> devices, int ring_size) {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, cat("places of devices: ", what));
  };
  constexpr std::int64_t kMostPlaces = 1 << 20;
  if (devices.empty()) refuse("there are none");
  if (ring_size < 1 || static_cast<int>(devices.size()) % ring_size != 0) {
    refuse(cat("there are ", devices.size(), ", no multiple of a ring of ", ring_size));
  }
  DeviceAt low = devices[0], high = devices[0];
  for (const DeviceAt& device : devices) {
    for (std::size_t d = 0; d < 3; ++d) {
      low.chip[d] = std::min(low.chip[d], device.chip[d]);
      high.chip[d] = std::max(high.chip[d], device.chip[d]);
    }
    low.core = std::min(low.core, device.core);
    high.core = std::max(high.core, device.core);
  }
  Slice slice;
  if (high.core - low.core >= kMostPlaces) refuse("a chip has more than a million");
  slice.devices_per_chip = static_cast<int>(high.core - low.core + 1);
  std::int64_t places = slice.devices_per_chip;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t extent = high.chip[d] - low.chip[d] + 1;
    if (extent > kMostPlaces / places) refuse("they lie in a box of more than a million");
    slice.chips.push_back(static_cast<int>(extent));
    places *= extent;
  }
  const auto number = [&](const DeviceAt& at) {  // of a place in the box
    std::int64_t place = at.core;
    for (std::size_t d = 0; d < 3; ++d) place = place * slice.chips[d] + at.chip[d];
    return static_cast<std::size_t>(place);
  };
  std::vector<int> device_at(static_cast<std::size_t>(places), -1);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    DeviceAt at = devices[i];
    for (std::size_t d = 0; d < 3; ++d) at.chip[d] -= low.chip[d];
    at.core -= low.core;
    int& device = device_at[number(at)];
    if (device >= 0) refuse(cat("devices ", device, " and ", i, " are at the same"));
    device = static_cast<int>(i);
  }
  std::vector<int> order;
  for (const DeviceAt& at : ring_order(slice, ring_size, ring_size == places)) {
    if (const int device = device_at[number(at)]; device >= 0) order.push_back(device);
  }
  return order;
}

void check_assignment(const Slice& slice, const Ring& ring, std::span<const int> assignment) {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, cat("device assignment: ", what));
  };
  if (static_cast<int>(assignment.size()) != ring.num_devices()) {
    refuse(cat("it has ", assignment.size(), " devices; the mesh has ", ring.num_devices()));
  }
  std::vector<int> owner(static_cast<std::size_t>(slice.num_devices()), -1);
  for (int i = 0; i < static_cast<int>(assignment.size()); ++i) {
    const int device = assignment[static_cast<std::size_t>(i)];
    if (device < 0 || device >= slice.num_devices()) {
      refuse(cat("device ", i, " of the mesh is to be ", device, "; ", slice.topology,
                 " has devices 0 to ", slice.num_devices() - 1));
    }
    int& taken = owner[static_cast<std::size_t>(device)];
    if (taken >= 0) {
      refuse(cat("device ", device, " of ", slice.topology, " is to be devices ", taken, " and ", i,
                 " of the mesh"));
    }
    taken = i;
  }
}

int longest_hop(const Slice& slice, const Ring& ring, std::span<const DeviceAt> devices) {
  std::int64_t longest = 0;
  for (const std::vector<int>& of_ring : rings_of(ring)) {
    for (std::size_t i = 0; i < of_ring.size(); ++i) {
      const DeviceAt& a = devices[static_cast<std::size_t>(of_ring[i])];
      const DeviceAt& b = devices[static_cast<std::size_t>(of_ring[(i + 1) % of_ring.size()])];
      std::int64_t links = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        const std::int64_t apart = std::abs(a.chip[d] - b.chip[d]);
        links += slice.wraps[d] ? std::min(apart, slice.chips[d] - apart) : apart;
      }
      longest = std::max(longest, links);
    }
  }
  return static_cast<int>(longest);
}

}  // namespace cmm::tpu::aot
