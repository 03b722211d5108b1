// Kernels of the schedules that the planner makes, for the chips that are known.
#include <gtest/gtest.h>

#include "sim/chips.hpp"
#include "sim/tile_plan.hpp"
#include "tpu/support/expect_right.hpp"
#include "tpu/support/wavefront_case.hpp"

namespace cmm::tpu {
namespace {

using test::options_of;

schedule::TileSchedule plan(const WavefrontOptions& options, const Chip& chip) {
  sim::TileProblem problem;
  problem.machine.chip = chip;
  problem.machine.elements = {options.element, options.out_element};
  problem.machine.link_bytes_per_second = chip.link_bytes_per_second;
  problem.machine.hop_seconds = chip.hop_seconds;
  problem.shape = padded_shape(options, chip);
  return sim::plan_tiles(problem).schedule;
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

// With less and less VMEM x takes turns in its slots or travels through HBM, and y is streamed.
TEST(PlannedKernel, IsRightWhereVmemIsScarce) {
  const auto options = options_of({{4}, 0}, {4 * 128, 512, {768}});
  bool has_credits = false, through_hbm = false;
  for (const int kibibytes : {2000, 1400, 1000}) {
    SCOPED_TRACE(testing::Message() << kibibytes << " KiB");
    Chip chip = sim::find_chip(sim::builtin_chips(), "v6e");
    chip.vmem_bytes = std::int64_t{kibibytes} << 10;
    const auto schedule = plan(options, chip);
    has_credits |= schedule.shape.needs_credits();
    through_hbm |= schedule.shape.x_home == schedule::XHome::kHbm;
    test::expect_right(wavefront_kernel(schedule, options, chip), chip, {.num_interleavings = 0});
  }
  EXPECT_TRUE(has_credits) << "the planner no longer needs any: take less VMEM";
  EXPECT_TRUE(through_hbm) << "the planner no longer does so: take less VMEM";
}

}  // namespace
}  // namespace cmm::tpu
