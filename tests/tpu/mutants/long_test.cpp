// More and larger kernels whose mutants must be caught: eight devices, ragged extents, several
// pieces in a slot, several groups in a product, passes over y.
#include <gtest/gtest.h>

#include "tpu/kernels/reference.hpp"
#include "tpu/mutants/expect_caught.hpp"
#include "tpu/support/planned_kernel.hpp"
#include "tpu/support/wavefront_case.hpp"

namespace cmm::tpu {
namespace {

struct Planned {
  std::string name;
  WavefrontOptions options;
  std::string parameters;
};

class PlannedKernels : public testing::TestWithParam<Planned> {};

TEST_P(PlannedKernels, HaveMutantsThatAreCaught) {
  const Planned& planned = GetParam();
  test::expect_all_mutants_caught(test::planned_kernel(planned.options, planned.parameters),
                                  test::planned_chip());
}

const std::string kTiles = "side_rows=8 piece_rows=8 block_cols=128 ";

INSTANTIATE_TEST_SUITE_P(
    Mutants, PlannedKernels,
    testing::Values(Planned{"EightDevices", test::options_of({{8}, 0}, {128, 128, {256}}),
                            kTiles + "bodies=1x1/2,2f/2"},
                    Planned{"EightDevicesThroughHbm", test::options_of({{8}, 0}, {128, 128, {384}}),
                            kTiles + "bodies=1x1/2 x_home=hbm x_bytes=12288"},
                    Planned{"Ragged", test::options_of({{3}, 0}, {40, 100, {200}}),
                            kTiles + "bodies=1x1/2"},
                    Planned{"AnAxisOfAMesh", test::options_of({{2, 3, 2}, 1}, {48, 128, {256}}),
                            kTiles + "bodies=1x1/2"},
                    Planned{"PiecesInASlot", test::options_of({{4}, 0}, {128, 128, {256}}),
                            "side_rows=16 piece_rows=8 block_cols=128 bodies=1x1/2,1x2/2"},
                    Planned{"PiecesInARing", test::options_of({{4}, 0}, {128, 128, {384}}),
                            "side_rows=16 piece_rows=8 block_cols=128 bodies=1x1/2 x_bytes=16384"},
                    Planned{"GroupsInAProduct", test::options_of({{4}, 0}, {128, 128, {384}}),
                            kTiles + "bodies=1x1/2,2x1/2 x_home=hbm x_bytes=32768 order=y"},
                    Planned{"TwoPasses", test::options_of({{4}, 0}, {128, 128, {384}}),
                            kTiles + "bodies=1x1/2 x_home=hbm x_bytes=12288 passes=2"},
                    Planned{"TwoRightSides", test::options_of({{4}, 0}, {64, 128, {128, 256}}),
                            kTiles + "bodies=1x1/2"},
                    Planned{"IntegersTransposed",
                            {.ring = {{4}, 0},
                             .asked = {256, 128, {256}},
                             .element = Element::kS8,
                             .out_element = Element::kS32,
                             .rhs_transposed = true},
                            "side_rows=32 piece_rows=32 block_cols=128 bodies=1x1/2"}),
    [](const testing::TestParamInfo<Planned>& planned) { return planned.param.name; });

TEST(PlannedMutants, OfWhatThePlannerFindsBestForEightDevices) {
  const WavefrontOptions options = test::options_of({{8}, 0}, {256, 128, {384}});
  test::expect_all_mutants_caught(test::planned_kernel(options, ""), test::planned_chip());
}

TEST(PlannedMutants, OfRingsWithMoreSlots) {
  for (const int num_devices : {2, 3, 4, 5}) {
    for (const int num_slots : {3, 4, 6}) {
      SCOPED_TRACE(std::to_string(num_devices) + " devices, slots " + std::to_string(num_slots));
      const WavefrontOptions options =
          test::options_of({{num_devices}, 0}, {32 * num_devices, 128, {128}});
      test::expect_all_mutants_caught(
          test::planned_kernel(options,
                               kTiles + "bodies=1x1/2 x_bytes=" + std::to_string(4096 * num_slots)),
          test::planned_chip());
    }
  }
}

TEST(PlannedMutants, OfIntegersOnFiveDevicesThatGatherX) {
  const WavefrontOptions options = test::options_of({{5}, 0}, {80, 128, {256}}, Element::kS8);
  test::expect_all_mutants_caught(test::planned_kernel(options, "", true), test::planned_chip());
}

TEST(ReferenceMutantsLong, OfEightDevices) {
  const Chip& chip = test::planned_chip();
  test::expect_all_mutants_caught(reference_kernel({.ring = {{8}, 0},
                                                    .m = 128,
                                                    .k = 256,
                                                    .n = 2048,
                                                    .element = Element::kBF16,
                                                    .bn = 128,
                                                    .bk = 128},
                                                   chip),
                                  chip);
}

}  // namespace
}  // namespace cmm::tpu
