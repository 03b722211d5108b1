#include "tpu/kernels/wavefront.hpp"

#include <gtest/gtest.h>

#include "tpu/support/chips.hpp"
#include "tpu/support/expect_right.hpp"
#include "tpu/support/simple_schedule.hpp"
#include "tpu/support/wavefront_case.hpp"

namespace cmm::tpu {
namespace {

using cmm::test::simple_schedule;
using schedule::TileBody;
using schedule::TileShape;
using schedule::XHome;
using test::chip_of_generation;
using test::options_of;
using test::small_case;
using test::WavefrontCase;

void expect_right(const WavefrontCase& c, int num_interleavings = 2) {
  SCOPED_TRACE(c.name);
  const Chip chip = chip_of_generation(c.generation);
  const auto schedule = simple_schedule(c.shape);
  ASSERT_EQ(schedule::verify(schedule), "");
  const Kernel kernel = wavefront_kernel(schedule, c.options, chip);
  test::expect_right(kernel, chip, {.num_interleavings = num_interleavings});
}

// With x in VMEM, in as few slots as the simple schedule can do with, and in HBM.
void expect_right_in_every_home(WavefrontCase c, int num_interleavings = 2) {
  expect_right(c, num_interleavings);
  const std::string name = c.name;
  TileShape& shape = c.shape;
  const int groups = shape.bodies.back().groups;
  const int chunk = shape.bodies.back().free ? 2 : groups;
  c.name = name + ", x slots used again";
  shape.x_slots = static_cast<int>(round_up(shape.num_groups() + chunk, chunk));
  if (shape.x_slots < shape.num_devices * shape.num_groups()) expect_right(c, num_interleavings);
  c.name = name + ", x in HBM";
  shape.x_home = XHome::kHbm;
  shape.x_slots = 2 * chunk;
  expect_right(c, num_interleavings);
}

Ring ring_of(int num_devices) { return {{num_devices}, 0}; }

TEST(Wavefront, IsRightForAnyNumberOfDevices) {
  for (int num_devices = 1; num_devices <= 9; ++num_devices) {
    expect_right_in_every_home(
        small_case("P = " + std::to_string(num_devices),
                   options_of(ring_of(num_devices), {16 * num_devices, 128, {256}})),
        1);
  }
}

TEST(Wavefront, IsRightInEveryTypeAndForm) {
  for (const int generation : {4, 5, 6, 7}) {
    for (const Element element : {Element::kF32, Element::kBF16, Element::kF8E4M3, Element::kS8}) {
      for (const bool transposed : {false, true}) {
        const int rows = 2 * sublane_rows(generation, element);
        auto options = options_of(ring_of(3), {3 * rows, 256, {256}}, element);
        options.rhs_transposed = transposed;
        expect_right(
            small_case("generation " + std::to_string(generation) + ", " +
                           std::string(element_name(element)) + (transposed ? ", transposed" : ""),
                       options, generation),
            0);
      }
    }
  }
}

TEST(Wavefront, RoundsSumsToTheTypeAskedFor) {
  const std::pair<Element, Element> types[] = {
      {Element::kBF16, Element::kF32},   {Element::kF8E4M3, Element::kBF16},
      {Element::kF8E4M3, Element::kF32}, {Element::kF32, Element::kBF16},
      {Element::kS8, Element::kS8},      {Element::kF32, Element::kF8E4M3}};
  for (const auto& [element, out] : types) {
    for (const int generation : {6, 7}) {
      auto options = options_of(ring_of(2), {128, 256, {128}}, element);
      options.out_element = out;
      expect_right_in_every_home(
          small_case(std::string(element_name(element)) + " to " + std::string(element_name(out)),
                     options, generation));
    }
  }
}

// Rows, columns and k that are no whole tiles, and devices that hold fewer rows or none.
TEST(Wavefront, IsRightForRaggedExtents) {
  for (const std::int64_t m : {1, 3, 23, 24, 100, 129}) {
    const Extents asked = {.m = m, .k = 200, .cols = {72}};
    expect_right_in_every_home(
        small_case("m = " + std::to_string(m), options_of(ring_of(3), asked)));
  }
}

// Sides of 16 rows in pieces of 8 or 16, of halves that are no multiple of them: the last piece and
// the last group have fewer rows, or none backward. Blocks of 256 columns of 384 and of 128.
TEST(Wavefront, IsRightForRaggedPiecesGroupsAndBlocks) {
  for (const std::int64_t tiles : {1, 3, 4, 5, 7}) {
    for (const std::int64_t piece_rows : {8, 16}) {
      WavefrontCase c =
          small_case("tiles " + std::to_string(tiles) + ", pieces of " + std::to_string(piece_rows),
                     options_of(ring_of(2), {2 * 8 * tiles, 128, {384, 128}}));
      c.shape.side_rows = 16;
      c.shape.piece_rows = piece_rows;
      c.shape.block_cols = 256;
      c.shape.x_slots = static_cast<int>(2 * c.shape.num_groups());
      expect_right_in_every_home(c, 1);
    }
  }
}

TEST(Wavefront, IsRightAlongEitherAxisOfAMesh) {
  for (const int axis : {0, 1}) {
    const Ring ring = {{2, 4}, axis};
    expect_right_in_every_home(
        small_case("axis " + std::to_string(axis), options_of(ring, {64, 128, {128}})));
  }
}

TEST(Wavefront, IsRightForSeveralRightSides) {
  WavefrontCase c = small_case("three", options_of(ring_of(3), {48, 128, {256, 128, 384}}));
  c.shape.bodies = {{}, {.blocks = 2}};
  expect_right_in_every_home(c);
  c.options.rhs_transposed = true;
  c.shape.bodies = {{}, {.blocks = 3, .free = true}};
  c.shape.y_slots = 3;
  expect_right_in_every_home(c);
}

TEST(Wavefront, PutsOutTheGatheredX) {
  for (const int num_devices : {1, 2, 4}) {
    WavefrontCase c = small_case("P = " + std::to_string(num_devices),
                                 options_of(ring_of(num_devices), {40 * num_devices, 128, {128}}));
    c.shape.gathered = true;
    expect_right_in_every_home(c);
  }
}

TEST(Wavefront, IsRightForEveryBody) {
  const std::vector<std::vector<TileBody>> all_bodies = {
      {{}, {.groups = 2}},
      {{}, {.blocks = 2, .out_slots = 1}},
      {{}, {.groups = 2, .blocks = 3, .out_slots = 3}},
      {{}, {.blocks = 4, .free = true}},
      {{.free = true}, {.blocks = 3, .free = true, .out_slots = 1}}};
  for (const auto& bodies : all_bodies) {
    const TileBody& last = bodies.back();
    WavefrontCase c = small_case(std::to_string(last.groups) + "x" + std::to_string(last.blocks) +
                                     (last.free ? " free" : ""),
                                 options_of(ring_of(4), {4 * 32, 128, {640}}));
    c.shape.bodies = bodies;
    c.shape.y_slots = 4;
    expect_right_in_every_home(c);
  }
}

// Two k blocks, of which the first only stores and the last only adds; and more, with some between.
TEST(Wavefront, IsRightWhereKIsSplit) {
  for (const std::int64_t k : {256, 512}) {
    for (const bool free : {false, true}) {
      WavefrontCase c = small_case("k = " + std::to_string(k) + (free ? " free" : ""),
                                   options_of(ring_of(3), {48, k, {384}}));
      c.shape.x_home = XHome::kHbm;
      c.shape.block_k = 128;
      c.shape.bodies = {{}, {.groups = free ? 1 : 2, .blocks = 2, .free = free}};
      c.shape.x_slots = 4;
      c.shape.gathered = free;
      expect_right(c, 4);
    }
  }
}

TEST(Wavefront, BringsBlocksOfYInParts) {
  for (const bool transposed : {false, true}) {
    WavefrontCase c = small_case("parts", options_of(ring_of(2), {32, 512, {256, 128}}));
    c.options.rhs_transposed = transposed;
    c.shape.block_cols = 256;
    c.shape.y_parts = 4;
    expect_right(c);
    c.shape.x_home = XHome::kHbm;
    c.shape.x_slots = 2;
    c.shape.block_k = 256;
    c.shape.y_parts = 2;
    expect_right(c);
  }
}

TEST(Wavefront, IsRightForAnyNumberOfDepartures) {
  for (const int departures : {1, 2, 5}) {
    WavefrontCase c = small_case(std::to_string(departures) + " departures",
                                 options_of(ring_of(4), {4 * 56, 128, {128}}));
    c.shape.side_rows = 32;
    c.shape.x_slots = static_cast<int>(4 * c.shape.num_groups());
    c.shape.departures = departures;
    expect_right_in_every_home(c);
  }
}

TEST(Wavefront, IsRightForWhateverIsDrawn) {
  for (unsigned seed = 1; seed <= 20; ++seed) expect_right(test::random_case(seed), 0);
}

}  // namespace
}  // namespace cmm::tpu
