// Kernels of the schedules that the planner makes, for the chips that are known.
#include <gtest/gtest.h>

#include "schedule/tile_needs.hpp"
#include "sim/chips.hpp"
#include "sim/tile_plan.hpp"
#include "tpu/support/expect_right.hpp"
#include "tpu/support/wavefront_case.hpp"

namespace cmm::tpu {
namespace {

using test::options_of;

sim::TileProblem problem_of(const WavefrontOptions& options, const Chip& chip) {
  sim::TileProblem problem;
  problem.machine.chip = chip;
  problem.machine.elements = {options.element, options.out_element};
  problem.machine.link_bytes_per_second = chip.link_bytes_per_second;
  problem.machine.hop_seconds = chip.hop_seconds;
  problem.shape = padded_shape(options, chip);
  return problem;
}

schedule::TileSchedule plan(const WavefrontOptions& options, const Chip& chip) {
  return sim::plan_tiles(problem_of(options, chip)).schedule;
}

// The shapes that the reference kernel has been tuned for.
TEST(PlannedKernel, FitsTheChip) {
  const Chip& chip = sim::find_chip(sim::builtin_chips(), "v6e");
  struct Tuned {
    std::int64_t m, n, k;
  };
  for (const Tuned& tuned : std::vector<Tuned>{{1024, 51200, 5120},
                                               {1024, 57344, 8192},
                                               {2048, 51200, 5120},
                                               {2048, 57344, 8192},
                                               {4096, 51200, 5120},
                                               {8192, 51200, 5120}}) {
    const WavefrontOptions options = options_of({{8}, 0}, {tuned.m, tuned.k, {tuned.n / 8}});
    const Kernel kernel = wavefront_kernel(plan(options, chip), options, chip);
    EXPECT_EQ(check_program(kernel.program, chip), "");
  }
}

TEST(PlannedKernel, IsRight) {
  for (const Chip& chip : sim::builtin_chips()) {
    for (const int num_devices : {1, 2, 3, 4}) {
      SCOPED_TRACE(testing::Message() << chip.name << ", " << num_devices << " devices");
      const auto options = options_of({{num_devices}, 0}, {60 * num_devices - 7, 250, {300, 140}});
      test::expect_right(wavefront_kernel(plan(options, chip), options, chip), chip,
                         {.num_interleavings = 0});
    }
  }
}

// Where VMEM holds neither operand over all of k.
TEST(PlannedKernel, IsRightWithKCut) {
  Chip chip = sim::find_chip(sim::builtin_chips(), "v6e");
  chip.vmem_bytes = 400'000;
  for (const int num_devices : {1, 3, 4}) {
    SCOPED_TRACE(testing::Message() << num_devices << " devices");
    const auto options = options_of({{num_devices}, 0}, {60 * num_devices - 7, 1500, {300, 140}});
    const schedule::TileSchedule schedule = plan(options, chip);
    EXPECT_GT(schedule.shape.num_k_blocks(), 1);
    const Kernel kernel = wavefront_kernel(schedule, options, chip);
    EXPECT_EQ(check_program(kernel.program, chip), "");
    test::expect_right(kernel, chip, {.num_interleavings = 0});
  }
}

// What the planner counts on is what the kernel takes.
TEST(PlannedKernel, NeedsWhatThePlannerCounts) {
  const Chip& chip = sim::find_chip(sim::builtin_chips(), "v6e");
  for (const int num_devices : {1, 2, 4, 8}) {
    for (const std::int64_t rows : {24, 200, 1024}) {
      for (const std::int64_t k : {512, 4000, 65536}) {
        SCOPED_TRACE(testing::Message() << num_devices << " devices, " << rows << " x " << k);
        const auto options = options_of({{num_devices}, 0}, {rows * num_devices, k, {1000, 300}});
        const schedule::TileSchedule schedule = plan(options, chip);
        const Kernel kernel = wavefront_kernel(schedule, options, chip);
        const auto words = static_cast<std::int64_t>(kernel.table.size());
        EXPECT_LE(words, schedule::most_table_words(schedule));
        EXPECT_GE(words, schedule::most_table_words(schedule) * 6 / 10);
        EXPECT_EQ(num_semaphores(kernel.program), schedule::num_semaphores(schedule.shape));
        EXPECT_EQ(vmem_bytes(kernel.program, chip),
                  schedule::vmem_bytes(schedule.shape, {options.element, options.out_element}));
      }
    }
  }
}

// Where x takes turns in its slots, or travels through HBM, whatever the planner's rule would
// choose.
TEST(PlannedKernel, IsRightInEveryHomeOfX) {
  const auto options = options_of({{4}, 0}, {4 * 128, 512, {768}});
  const Chip& chip = sim::find_chip(sim::builtin_chips(), "v6e");
  sim::TileParameters parameters;
  parameters.side_rows = 32;
  parameters.piece_rows = 16;
  parameters.block_cols = 128;
  parameters.bodies = {{}, {.blocks = 3}};
  parameters.x_bytes = 5 * (2 * 32 * 512 * 2);  // five slots for the eight groups of all devices
  const auto expect_right = [&](const char* name) {
    SCOPED_TRACE(name);
    const auto scheduled = sim::list_schedule(problem_of(options, chip), parameters);
    ASSERT_TRUE(scheduled.plan) << scheduled.why_not;
    const auto& schedule = scheduled.plan->schedule;
    EXPECT_EQ(schedule.shape.needs_credits(), parameters.x_home == schedule::XHome::kVmem);
    test::expect_right(wavefront_kernel(schedule, options, chip), chip, {.num_interleavings = 0});
  };
  expect_right("in VMEM");
  parameters.x_home = schedule::XHome::kHbm;
  expect_right("in HBM");
}

}  // namespace
}  // namespace cmm::tpu
