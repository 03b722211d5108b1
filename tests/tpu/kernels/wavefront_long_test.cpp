// Random kernels in many interleavings.
#include <gtest/gtest.h>

#include "tpu/support/chips.hpp"
#include "tpu/support/expect_right.hpp"
#include "tpu/support/simple_schedule.hpp"
#include "tpu/support/wavefront_case.hpp"

namespace cmm::tpu {
namespace {

TEST(WavefrontLong, IsRightForWhateverIsDrawn) {
  for (unsigned seed = 1000; seed < 1300; ++seed) {
    const test::WavefrontCase c = test::random_case(seed);
    SCOPED_TRACE(c.name);
    const Chip chip = test::chip_of_generation(c.generation);
    test::expect_right(wavefront_kernel(cmm::test::simple_schedule(c.shape), c.options, chip), chip,
                       {.seed = seed, .num_interleavings = 8});
  }
}

}  // namespace
}  // namespace cmm::tpu
