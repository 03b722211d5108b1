// Wavefront kernels of small problems, each to show one thing.
#pragma once

#include <string>

#include "tpu/kernels/wavefront.hpp"

namespace cmm::tpu::test {

struct WavefrontCase {
  std::string name;
  WavefrontOptions options;
  schedule::TileShape shape;
  int generation = 6;
};

// P devices, tiles of one row tile and one block, slots for all of x, two for y; bodies and slots
// are to be changed by the test.
inline WavefrontCase small_case(std::string name, WavefrontOptions options, int generation = 6) {
  WavefrontCase small = {.name = std::move(name), .options = std::move(options), .shape = {}};
  small.generation = generation;
  Chip chip;
  chip.generation = generation;
  schedule::TileShape& shape = small.shape;
  shape = padded_shape(small.options, chip);
  shape.side_rows = shape.piece_rows = shape.row_tile;
  shape.block_cols = kLanes;
  shape.block_k = shape.k;
  shape.x_slots = static_cast<int>(shape.num_devices * shape.num_groups());
  shape.y_slots = 2;
  shape.bodies = {{}};
  return small;
}

inline WavefrontOptions options_of(Ring ring, Extents asked, Element element = Element::kBF16) {
  return {.ring = std::move(ring),
          .asked = std::move(asked),
          .element = element,
          .out_element = element == Element::kS8 ? Element::kS32 : element};
}

// Everything at once, drawn at random and small; a case is its seed.
WavefrontCase random_case(unsigned seed);

}  // namespace cmm::tpu::test
