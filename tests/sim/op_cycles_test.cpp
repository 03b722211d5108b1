// The block model against cycles that the real compiler's schedules show (docs/tpu.md).
#include <gtest/gtest.h>

#include "sim/tile_walk.hpp"

namespace cmm::sim {
namespace {

TEST(OpCycles, OfV6e) {
  tpu::Chip chip;
  chip.num_mxus = 2;
  chip.mxu_tile = 256;
  chip.mxu_cycles_per_row = 0.5;
  chip.mxu_push_cycles = 64;
  chip.mxu_rate = {1, 1, 1, 2, 0};
  EXPECT_EQ(op_cycles(chip, tpu::Element::kBF16, 256, 4096, 512), 2048);
  EXPECT_EQ(op_cycles(chip, tpu::Element::kBF16, 64, 4096, 512), 1024);  // pushes dominate
  EXPECT_EQ(op_cycles(chip, tpu::Element::kS8, 256, 4096, 512), 1024);
}

// Once in a block of products, with the last rows: what libtpu 0.0.52 adds to tiles of these rows.
TEST(FillCycles, OfV6e) {
  tpu::Chip chip;
  chip.mxu_cycles_per_row = 0.5;
  chip.mxu_push_cycles = 64;
  chip.mxu_rate = {1, 1, 1, 2, 0};
  chip.block_cycles = 207;
  chip.wide_block_cycles = 286;
  EXPECT_EQ(fill_cycles(chip, tpu::Element::kBF16, 32, 256), 223);
  EXPECT_EQ(fill_cycles(chip, tpu::Element::kBF16, 64, 512), 239);
  EXPECT_EQ(fill_cycles(chip, tpu::Element::kBF16, 128, 512), 271);
  EXPECT_EQ(fill_cycles(chip, tpu::Element::kBF16, 512, 512), 271);
  EXPECT_EQ(fill_cycles(chip, tpu::Element::kBF16, 512, 1024), 350);
}

}  // namespace
}  // namespace cmm::sim
