#include "tpu/kernels/wavefront.hpp"

#include <gtest/gtest.h>

#include "tpu/interpret/fault.hpp"
#include "tpu/support/chips.hpp"
#include "tpu/support/simple_schedule.hpp"
#include "tpu/support/wavefront_case.hpp"
#include "tpu/verify.hpp"

namespace cmm::tpu {
namespace {

using cmm::test::simple_schedule;
using schedule::TileShape;
using schedule::XHome;
using test::chip_of_generation;
using test::options_of;
using test::small_case;
using test::WavefrontCase;

// Right in every bit, in every interleaving that verify() tries.
void expect_right(const WavefrontCase& c) {
  SCOPED_TRACE(c.name);
  const Chip chip = chip_of_generation(c.generation);
  const auto schedule = simple_schedule(c.shape);
  ASSERT_EQ(schedule::verify(schedule), "");
  const Kernel kernel = wavefront_kernel(schedule, c.options, chip);
  const Verdict verdict = verify(kernel, chip, {.num_interleavings = 4});
  EXPECT_FALSE(verdict.fault) << fault_name(verdict.fault->kind) << ": " << verdict.fault->text
                              << " (" << run_text(verdict.options) << ")";
}

TEST(Wavefront, IsRightForAnyNumberOfDevices) {
  for (int num_devices = 1; num_devices <= 9; ++num_devices) {
    WavefrontCase c = small_case("P = " + std::to_string(num_devices),
                                 options_of({{num_devices}, 0}, {16 * num_devices, 128, {256}}));
    expect_right(c);
    c.shape.x_home = XHome::kHbm;
    c.shape.x_slots = 2;
    expect_right(c);
  }
}

}  // namespace
}  // namespace cmm::tpu
