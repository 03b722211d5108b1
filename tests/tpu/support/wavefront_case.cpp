#include "tpu/support/wavefront_case.hpp"

#include <algorithm>
#include <random>

#include "base/integers.hpp"

namespace cmm::tpu::test {

using schedule::TileShape;
using schedule::XHome;

WavefrontCase random_case(unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const Element elements[] = {Element::kF32, Element::kBF16, Element::kF8E4M3, Element::kS8};
  const int num_devices = draw(1, 5), generation = draw(4, 7);
  const Element element = elements[draw(0, 3)];
  const int tile = sublane_rows(generation, element);
  Extents asked = {.m = draw(1, 6 * tile * num_devices), .k = 64 * draw(1, 6), .cols = {}};
  for (int i = draw(1, 2); i > 0; --i) asked.cols.push_back(64 * draw(1, 6));
  WavefrontOptions options = options_of({{num_devices}, 0}, asked, element);
  options.rhs_transposed = draw(0, 1) == 1;
  WavefrontCase c = small_case("seed " + std::to_string(seed), options, generation);

  TileShape& shape = c.shape;
  shape.piece_rows = shape.row_tile * draw(1, 2);
  shape.side_rows = shape.piece_rows * draw(1, 3);
  shape.block_cols = kLanes * draw(1, 3);
  shape.departures = draw(1, 4);
  shape.gathered = draw(0, 1) == 1;
  const bool free = draw(0, 1) == 1;
  shape.bodies.push_back({.groups = free ? 1 : draw(1, 2),
                          .blocks = draw(1, 3),
                          .free = free,
                          .out_slots = draw(1, 3)});
  const int chunk = free ? 2 : shape.bodies.back().groups;
  const auto num_groups = static_cast<int>(shape.num_groups());
  shape.x_slots = static_cast<int>(round_up(num_devices * num_groups, chunk));
  if (draw(0, 2) == 0) shape.x_slots = static_cast<int>(round_up(num_groups + chunk, chunk));
  shape.y_slots = draw(3, 5);
  if (draw(0, 2) == 0) {
    shape.x_home = XHome::kHbm;
    shape.x_slots = chunk * draw(1, 3);
    if (draw(0, 1) == 0) shape.block_k = kLanes;
  }
  if (shape.block_k % (2 * kLanes) == 0) shape.y_parts = draw(1, 2);
  return c;
}

}  // namespace cmm::tpu::test
