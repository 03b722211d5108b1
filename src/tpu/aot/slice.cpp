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

// Cells of a grid [rows, columns] such that each, and the first after the last, is beside the one
// before it. There is such a cycle where the number of cells is even and both extents are at least
// 2, and for two cells in a row.
//
//   rows even:    > > > v      along row 0, back through the other rows in turns, each but for
//                 ^ v < <      column 0, which leads up again
//                 ^ > > v
//                 ^ < < <
using Cell = std::array<int, 2>;
std::optional<std::vector<Cell>> cycle(int rows, int columns) {
  if (rows * columns == 1) return std::vector<Cell>{{0, 0}};
  if (rows * columns == 2) return std::vector<Cell>{{0, 0}, {rows - 1, columns - 1}};
  if (rows < 2 || columns < 2 || rows * columns % 2 != 0) return std::nullopt;
  if (rows % 2 != 0) {
    auto turned = cycle(columns, rows);
    for (Cell& cell : *turned) std::swap(cell[0], cell[1]);
    return turned;
  }
  std::vector<Cell> cells;
  for (int column = 0; column < columns; ++column) cells.push_back({0, column});
  for (int row = 1; row < rows; ++row) {
    for (int i = 1; i < columns; ++i) cells.push_back({row, row % 2 == 1 ? columns - i : i});
  }
  for (int row = rows - 1; row > 0; --row) cells.push_back({row, 0});
  return cells;
}

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

// The same as a cycle, where there is one: a cycle over one extent and a snake over the two others.
std::optional<std::vector<Extent3>> closed(Extent3 box) {
  for (const int first : {1, 2, 0}) {  // x runs fastest where it can
    const int a = (first + 1) % 3, b = (first + 2) % 3;
    Extent3 plane = {box[static_cast<std::size_t>(a)], box[static_cast<std::size_t>(b)], 1};
    const std::vector<Extent3> order = snake(plane);
    const auto cells = cycle(box[static_cast<std::size_t>(first)], static_cast<int>(order.size()));
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

// A box of `volume` chips that tiles the slice and has a cycle.
std::optional<Extent3> ring_box(Extent3 slice, int volume) {
  for (int z = 1; z <= slice[2]; ++z) {
    for (int y = 1; y <= slice[1]; ++y) {
      for (int x = 1; x <= slice[0]; ++x) {
        const Extent3 box = {x, y, z};
        const bool tiles = slice[0] % x == 0 && slice[1] % y == 0 && slice[2] % z == 0;
        if (tiles && x * y * z == volume && closed(box)) return box;
      }
    }
  }
  return std::nullopt;
}

// Devices of the slice in an order in which each ring takes the next P.
std::vector<DeviceAt> ring_order(const Slice& slice, int ring_size) {
  const Extent3 all = {slice.chips[0], slice.chips[1], slice.chips[2]};
  const int per_chip = slice.devices_per_chip;
  std::vector<DeviceAt> order;
  const auto add = [&](Extent3 chip) {
    for (int core = 0; core < per_chip; ++core) {
      order.push_back({.chip = {chip[0], chip[1], chip[2]}, .core = core});
    }
  };
  const auto box = ring_size % per_chip == 0 ? ring_box(all, ring_size / per_chip) : std::nullopt;
  if (!box) {
    for (const Extent3& chip : closed(all).value_or(snake(all))) add(chip);
    return order;
  }
  for (int z = 0; z < all[2]; z += (*box)[2]) {
    for (int y = 0; y < all[1]; y += (*box)[1]) {
      for (int x = 0; x < all[0]; x += (*box)[0]) {
        const auto chips = closed(*box);
        for (const Extent3& chip : *chips) add({x + chip[0], y + chip[1], z + chip[2]});
      }
    }
  }
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
  slice.chips.resize(3, 1);
  if (slice.num_devices() < num_devices) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("slice ", slice.topology, " has ", slice.num_devices(), " devices, the mesh ",
                    num_devices, "; give a larger slice or a smaller mesh"));
  }
  return slice;
}

std::vector<DeviceAt> place_devices(const Slice& slice, const Ring& ring) {
  const std::vector<DeviceAt> order = ring_order(slice, ring.size());
  CMM_DCHECK(static_cast<int>(order.size()) == slice.num_devices());
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
  for (const DeviceAt& at : ring_order(slice, ring_size)) {
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

int longest_hop(const Ring& ring, std::span<const DeviceAt> devices) {
  std::int64_t longest = 0;
  for (const std::vector<int>& of_ring : rings_of(ring)) {
    for (std::size_t i = 0; i < of_ring.size(); ++i) {
      const DeviceAt& a = devices[static_cast<std::size_t>(of_ring[i])];
      const DeviceAt& b = devices[static_cast<std::size_t>(of_ring[(i + 1) % of_ring.size()])];
      std::int64_t links = 0;
      for (std::size_t d = 0; d < 3; ++d) links += std::abs(a.chip[d] - b.chip[d]);
      longest = std::max(longest, links);
    }
  }
  return static_cast<int>(longest);
}

}  // namespace cmm::tpu::aot
