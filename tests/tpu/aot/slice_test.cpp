#include "tpu/aot/slice.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "sim/chips.hpp"

namespace cmm::tpu::aot {
namespace {

const Chip& chip(std::string_view name) { return sim::find_chip(sim::builtin_chips(), name); }

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}
void expect_has(const std::string& text, const std::string& what) {
  EXPECT_NE(text.find(what), std::string::npos) << what << " is not in: " << text;
}

TEST(Slice, TheSmallestThatHasEnoughDevices) {
  EXPECT_EQ(make_slice(chip("v6e"), {}, 1).topology, "v6e:2x2");
  EXPECT_EQ(make_slice(chip("v6e"), {}, 4).topology, "v6e:2x2");
  EXPECT_EQ(make_slice(chip("v6e"), {}, 5).topology, "v6e:2x4");
  EXPECT_EQ(make_slice(chip("v5e"), {}, 16).topology, "v5e:4x4");
  EXPECT_EQ(make_slice(chip("v5p"), {}, 4).topology, "v5p:2x2x1");
  EXPECT_EQ(make_slice(chip("v5p"), {}, 16).topology, "v5p:2x2x4");
  EXPECT_EQ(make_slice(chip("v4"), {}, 8).topology, "v4:2x2x1");
  EXPECT_EQ(make_slice(chip("7x"), {}, 16).topology, "tpu7x:2x2x2");
  EXPECT_EQ(make_slice(chip("7x"), {}, 16).num_devices(), 16);
  EXPECT_EQ(make_slice(chip("v6e"), {2, 8}, 16).topology, "v6e:2x8");
}

TEST(Slice, RefusesWhatIsNone) {
  const auto slice = [](std::string_view name, std::vector<int> extents, int num_devices) {
    return refusal([&] { make_slice(chip(name), extents, num_devices); });
  };
  expect_has(slice("v6e", {2, 2, 1}, 4), "slice 2x2x1 of v6e has 3 extents; give 2, as in 2x4");
  expect_has(slice("v5p", {2, 2}, 4), "give 3, as in 2x2x1");
  expect_has(slice("v6e", {2, 2}, 8), "slice v6e:2x2 has 4 devices, the mesh 8");
  expect_has(slice("v6e", {0, 2}, 1), "slice 0x2");
  expect_has(slice("v6e", {1 << 20, 1 << 20}, 1), "no slice of chips");
  Chip other = chip("v6e");
  other.name = "v9";
  expect_has(refusal([&] { make_slice(other, {}, 4); }), "no chip v9; it compiles for v4, v5e");
}

// Each device of the mesh has a place of its own, inside of the slice.
void expect_places(const Slice& slice, const Ring& ring, int most_links) {
  SCOPED_TRACE(cat(slice.topology, ", ring of ", ring.size(), " of ", ring.num_devices()));
  const std::vector<DeviceAt> places = place_devices(slice, ring);
  ASSERT_EQ(static_cast<int>(places.size()), ring.num_devices());
  std::set<std::array<std::int64_t, 4>> taken;
  for (const DeviceAt& at : places) {
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_GE(at.chip[i], 0);
      EXPECT_LT(at.chip[i], slice.chips[i]);
    }
    EXPECT_LT(at.core, slice.devices_per_chip);
    EXPECT_TRUE(taken.insert({at.chip[0], at.chip[1], at.chip[2], at.core}).second);
  }
  EXPECT_LE(longest_hop(slice, ring, places), most_links);
}

// All neighbours are one link apart; where the ring's size is odd and a chip one device, one pair
// is two apart.
TEST(Slice, RingsRunAlongNeighbours) {
  for (const char* const name : {"v4", "v5e", "v5p", "v6e", "7x"}) {
    for (int size = 2; size <= 16; ++size) {
      const Slice slice = make_slice(chip(name), {}, size);
      const bool even = size % 2 == 0 || slice.devices_per_chip == 2;
      expect_places(slice, {.mesh = {size}}, even ? 1 : 2);
    }
    for (const int data : {2, 4}) {
      for (const int size : {2, 4, 8}) {
        const Slice slice = make_slice(chip(name), {}, size * data);
        expect_places(slice, {.mesh = {data, size}, .axis = 1}, 1);
        expect_places(slice, {.mesh = {size, data}, .axis = 0}, 1);
      }
    }
  }
  expect_places(make_slice(chip("v6e"), {2, 8}, 16), {.mesh = {16}}, 1);
  expect_places(make_slice(chip("v6e"), {4, 6}, 24), {.mesh = {24}}, 1);
  expect_places(make_slice(chip("v5p"), {3, 3, 2}, 18), {.mesh = {18}}, 1);
  expect_places(make_slice(chip("v5p"), {4, 4, 4}, 64), {.mesh = {4, 16}, .axis = 1}, 1);
  expect_places(make_slice(chip("v6e"), {4, 4}, 14), {.mesh = {14}}, 1);
  expect_places(make_slice(chip("v6e"), {8, 8}, 50), {.mesh = {50}}, 1);
  expect_places(make_slice(chip("v6e"), {1, 8}, 8), {.mesh = {8}}, 7);
  expect_places(make_slice(chip("v6e"), {1, 16}, 16), {.mesh = {16}}, 1);  // wraps around
  expect_places(make_slice(chip("v6e"), {1, 16}, 12), {.mesh = {12}}, 5);
}

// Devices in any order, elsewhere on the torus.
std::vector<DeviceAt> shuffled_box(std::array<int, 3> box, int cores) {
  std::vector<DeviceAt> devices;
  for (int x = 0; x < box[0]; ++x) {
    for (int core = 0; core < cores; ++core) {
      for (int y = box[1]; y-- > 0;) {
        for (int z = 0; z < box[2]; ++z) {
          devices.push_back({.chip = {x + 4, y + 2, z + 1}, .core = core});
        }
      }
    }
  }
  return devices;
}
int longest_hop_in_order(const std::vector<DeviceAt>& devices, int num_rings = 1) {
  const int ring_size = static_cast<int>(devices.size()) / num_rings;
  std::vector<DeviceAt> ordered;
  std::set<int> seen;
  for (const int i : ring_order(devices, ring_size)) {
    EXPECT_TRUE(seen.insert(i).second);
    ordered.push_back(devices.at(static_cast<std::size_t>(i)));
  }
  EXPECT_EQ(ordered.size(), devices.size());
  return longest_hop(Slice{}, {.mesh = {num_rings, ring_size}, .axis = 1}, ordered);
}

TEST(Slice, DevicesThatAreThereAreOrderedAlongNeighbours) {
  EXPECT_EQ(longest_hop_in_order(shuffled_box({1, 1, 1}, 2)), 0);
  for (const std::array<int, 3> box : {std::array{2, 2, 1},
                                       {2, 4, 1},
                                       {4, 4, 1},
                                       {4, 2, 1},
                                       {2, 2, 2},
                                       {3, 4, 1},
                                       {2, 3, 3},
                                       {1, 2, 1}}) {
    for (const int cores : {1, 2}) {
      EXPECT_EQ(longest_hop_in_order(shuffled_box(box, cores)), 1) << box[0] << box[1] << box[2];
    }
  }
  EXPECT_EQ(longest_hop_in_order(shuffled_box({2, 4, 1}, 1), 2), 1);
  EXPECT_EQ(longest_hop_in_order(shuffled_box({4, 4, 4}, 2), 8), 1);
  EXPECT_EQ(longest_hop_in_order(shuffled_box({4, 4, 1}, 1), 8), 1);
  EXPECT_EQ(longest_hop_in_order(shuffled_box({1, 8, 1}, 1)), 7);  // a line: back to its begin
  std::vector<DeviceAt> part = shuffled_box({2, 2, 1}, 1);
  part.pop_back();
  EXPECT_EQ(longest_hop_in_order(part), 2);
  part.push_back(part[0]);
  expect_has(refusal([&] { ring_order(part, 1); }), "devices 0 and 3 are at the same");
  part.back().chip[0] = std::int64_t{1} << 40;
  expect_has(refusal([&] { ring_order(part, 1); }), "more than a million");
  part.pop_back();
  expect_has(refusal([&] { ring_order(part, 2); }), "there are 3, no multiple of a ring of 2");
  expect_has(refusal([] { ring_order({}, 1); }), "there are none");
}

TEST(Slice, RefusesAssignmentsThatLibtpuTakes) {
  const Slice slice = make_slice(chip("v6e"), {}, 4);
  const Ring ring{.mesh = {4}};
  const auto refused = [&](std::vector<int> numbers) {
    return refusal([&] { check_assignment(slice, ring, numbers); });
  };
  EXPECT_EQ(refused({0, 1, 3, 2}), "");
  expect_has(refused({0, 0, 1, 1}), "device 0 of v6e:2x2 is to be devices 0 and 1 of the mesh");
  expect_has(refused({0, 1, 2, 9}), "device 3 of the mesh is to be 9; v6e:2x2 has devices 0 to 3");
  expect_has(refused({0, 1, -1, 2}), "device 2 of the mesh is to be -1");
  expect_has(refused({0, 1, 2}), "it has 3 devices; the mesh has 4");
}

}  // namespace
}  // namespace cmm::tpu::aot
