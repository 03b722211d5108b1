// The verifier sees every small fault of wavefront kernels that changes anything: of the statements
// of their body, and of every word of their table.
#include <gtest/gtest.h>

#include "tpu/mutants/expect_caught.hpp"
#include "tpu/support/chips.hpp"
#include "tpu/support/planned_kernel.hpp"
#include "tpu/support/simple_schedule.hpp"
#include "tpu/support/wavefront_case.hpp"

namespace cmm::tpu {
namespace {

using schedule::XHome;
using test::options_of;
using test::small_case;
using test::WavefrontCase;

void expect_caught(const WavefrontCase& of) {
  const Chip chip = test::chip_of_generation(of.generation);
  test::expect_all_mutants_caught(
      wavefront_kernel(cmm::test::simple_schedule(of.shape), of.options, chip), chip);
}

void expect_caught(Extents extents, const std::string& parameters) {
  const Kernel kernel = test::planned_kernel(options_of({{4}, 0}, std::move(extents)), parameters);
  test::expect_all_mutants_caught(kernel, test::planned_chip());
}

WavefrontCase on_devices(int num_devices, std::int64_t k = 128) {
  return small_case("", options_of({{num_devices}, 0}, {16 * num_devices, k, {256}}));
}

TEST(WavefrontMutants, OfXInSlotsOfItsOwn) {
  expect_caught(on_devices(2));
  expect_caught(on_devices(3));
  expect_caught({64, 128, {384}}, "side_rows=8 piece_rows=8 block_cols=128 bodies=1x1/2,2f/2");
}

TEST(WavefrontMutants, OfWhatThePlannerFindsBest) {
  const auto expect_caught_of = [](int num_devices, Extents extents) {
    const WavefrontOptions options = options_of({{num_devices}, 0}, std::move(extents));
    test::expect_all_mutants_caught(test::planned_kernel(options, ""), test::planned_chip());
  };
  expect_caught_of(1, {32, 128, {256}});
  expect_caught_of(2, {32, 128, {256}});
  expect_caught_of(3, {50, 200, {130}});
  expect_caught_of(4, {64, 256, {256}});
}

TEST(WavefrontMutants, OfARingWithCredits) {
  WavefrontCase ring = on_devices(3);
  ring.shape.x_slots = 2;
  expect_caught(ring);
  expect_caught({64, 128, {256}},
                "side_rows=8 piece_rows=8 block_cols=128 bodies=1x1/2 x_bytes=8192");
}

// With more slots than two, what travels one way tells that those of the other way are free: some
// credits order nothing that needs it. That must be proved of each mutant, not only not be seen.
TEST(WavefrontMutants, OfRingsWithMoreSlots) {
  const auto expect_caught_of = [](int num_devices, int num_slots) {
    const WavefrontOptions options = options_of({{num_devices}, 0}, {32 * num_devices, 128, {128}});
    const std::string parameters = "side_rows=8 piece_rows=8 block_cols=128 bodies=1x1/2 x_bytes=";
    test::expect_all_mutants_caught(
        test::planned_kernel(options, parameters + std::to_string(4096 * num_slots)),
        test::planned_chip());
  };
  expect_caught_of(3, 3);
  expect_caught_of(4, 4);
  expect_caught_of(5, 3);
}

TEST(WavefrontMutants, OfXThroughHbm) {
  expect_caught({64, 128, {384}},
                "side_rows=8 piece_rows=8 block_cols=128 bodies=1x1/2 x_home=hbm x_bytes=12288");
}

TEST(WavefrontMutants, OfKInBlocks) {
  WavefrontCase in_blocks = on_devices(4, 256);
  in_blocks.shape.x_home = XHome::kHbm;
  in_blocks.shape.x_slots = 2;
  in_blocks.shape.y_slots = 4;
  in_blocks.shape.block_k = 128;
  expect_caught(in_blocks);
}

}  // namespace
}  // namespace cmm::tpu
