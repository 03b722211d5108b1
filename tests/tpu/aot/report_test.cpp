// What the compiler's schedule shows of our kernels: its products take what the simulator's model
// says, its VMEM is what we predict, it has the copies that the program has, and no operand has
// been put into VMEM behind our back.
#include <gtest/gtest.h>

#include "cmm/error.hpp"
#include "sim/chips.hpp"
#include "sim/tile_walk.hpp"
#include "tpu/aot/dump_folder.hpp"
#include "tpu/aot/libtpu.hpp"
#include "tpu/aot/schedule_report.hpp"
#include "tpu/support/simple_schedule.hpp"
#include "tpu/support/wavefront_case.hpp"

namespace cmm::tpu {
namespace {

using test::kNewestLibtpu;
using test::kOldestLibtpu;

struct Tile {
  const char* chip;
  std::int64_t side_rows;  // half the rows of the product
  std::int64_t k;
  std::int64_t block_cols;
  int blocks;
};

struct Shown {
  Kernel kernel;
  aot::ScheduleReport report;
  double model_cycles = 0;
};
Shown show(const Tile& tile, const char* version) {
  const Chip& chip = sim::find_chip(sim::builtin_chips(), tile.chip);
  const Extents asked = {
      .m = 8 * tile.side_rows, .k = tile.k, .cols = {tile.blocks * tile.block_cols}};
  test::WavefrontCase c =
      test::small_case("", test::options_of({.mesh = {4}}, asked), chip.generation);
  schedule::TileShape& shape = c.shape;
  shape.side_rows = shape.piece_rows = tile.side_rows;
  shape.block_cols = tile.block_cols;
  shape.x_slots = static_cast<int>(shape.num_devices * shape.num_groups());
  shape.y_slots = tile.blocks;
  shape.bodies = {{}};
  if (tile.blocks > 1) shape.bodies.push_back({.groups = 1, .blocks = tile.blocks});
  Shown shown{.kernel = wavefront_kernel(cmm::test::simple_schedule(shape), c.options, chip),
              .report = {}};
  const aot::DumpFolder dump;
  aot::CompileOptions options = test::compile_options(version);
  options.dump = dump.path();
  aot::compile(shown.kernel, chip, options);
  shown.report = aot::read_schedule(dump.path());
  shown.model_cycles =
      tile.blocks * sim::op_cycles(chip, Element::kBF16, static_cast<double>(2 * tile.side_rows),
                                   static_cast<double>(tile.k),
                                   static_cast<double>(tile.block_cols)) +
      sim::fill_cycles(chip, Element::kBF16, static_cast<double>(2 * tile.side_rows),
                       static_cast<double>(tile.block_cols));
  return shown;
}

int count(const Block& block, bool starts) {
  int found = 0;
  for (const Statement& statement : block) {
    found += starts ? std::holds_alternative<StartCopy>(statement.what)
                    : std::holds_alternative<AwaitCopy>(statement.what);
    if (const auto* branch = std::get_if<If>(&statement.what)) found += count(branch->then, starts);
    if (const auto* loop = std::get_if<For>(&statement.what)) found += count(loop->body, starts);
  }
  return found;
}

class Schedules : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Libtpu, Schedules, testing::Values(kOldestLibtpu, kNewestLibtpu));

TEST_P(Schedules, HaveWhatTheProgramHas) {
  CMM_SKIP_WITHOUT_LIBTPU(GetParam());
  for (const char* const name : {"v5e", "v5p", "v6e"}) {
    SCOPED_TRACE(name);
    const Shown shown = show({name, 64, 512, 256, 1}, GetParam());
    const Chip& chip = sim::find_chip(sim::builtin_chips(), name);
    // The oldest writes copies and waits of its own beside those of the program.
    if (GetParam() == std::string(kNewestLibtpu)) {
      EXPECT_EQ(shown.report.num_copy_starts, count(shown.kernel.program.body, true));
      EXPECT_EQ(shown.report.num_copy_awaits, count(shown.kernel.program.body, false));
    }
    EXPECT_EQ(shown.report.buffers_top_bytes, vmem_bytes(shown.kernel.program, chip));
    EXPECT_LE(shown.report.vmem_top_bytes, emit::scoped_vmem_bytes(shown.kernel.program, chip));
    ASSERT_EQ(shown.report.operand_memories.size(), 3u);  // x, y, out
    for (const std::string& memory : shown.report.operand_memories) EXPECT_EQ(memory, "hbm");
  }
}

// Within 3 percent, on products of 300 cycles and more.
TEST(NewestSchedules, ProductsTakeWhatTheModelSays) {
  CMM_SKIP_WITHOUT_LIBTPU(kNewestLibtpu);
  const Tile tiles[] = {
      {"v5e", 32, 1024, 256, 1},  {"v5e", 64, 1024, 256, 1},  {"v5p", 32, 1024, 256, 1},
      {"v5p", 128, 1024, 256, 2}, {"v6e", 16, 1024, 256, 1},  {"v6e", 32, 512, 256, 1},
      {"v6e", 64, 1024, 256, 1},  {"v6e", 128, 512, 256, 1},  {"7x", 16, 1024, 256, 1},
      {"7x", 32, 512, 256, 1},    {"7x", 64, 1024, 256, 2},   {"7x", 128, 1024, 512, 1},
      {"v4", 64, 512, 128, 2},    {"v4", 128, 512, 128, 1},   {"v5e", 64, 2048, 512, 1},
      {"v5e", 32, 2048, 512, 2},  {"v5p", 64, 2048, 512, 1},  {"v6e", 64, 2048, 512, 2},
      {"v6e", 128, 2048, 512, 2}, {"v6e", 128, 4096, 256, 4}, {"7x", 64, 2048, 512, 4},
      {"7x", 128, 2048, 512, 2}};
  for (const Tile& tile : tiles) {
    SCOPED_TRACE(testing::Message() << tile.chip << ", " << 2 * tile.side_rows << " rows, k "
                                    << tile.k << ", " << tile.blocks << " x " << tile.block_cols);
    const Shown shown = show(tile, kNewestLibtpu);
    EXPECT_NEAR(static_cast<double>(shown.report.product_cycles), shown.model_cycles,
                0.03 * shown.model_cycles);
    for (const aot::CycleBlock& block : shown.report.blocks) EXPECT_LE(block.mxu_busy, 1);
  }
}

}  // namespace
}  // namespace cmm::tpu
