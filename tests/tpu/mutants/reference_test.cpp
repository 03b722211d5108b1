// The verifier sees every small fault of the reference kernel that changes anything, and the kernel
// as it is right.
#include <gtest/gtest.h>

#include "tpu/kernels/reference.hpp"
#include "tpu/mutants/expect_caught.hpp"
#include "tpu/support/chips.hpp"

namespace cmm::tpu {
namespace {

struct Shape {
  int num_devices;
  int grid_n, grid_k;
  bool transposed;
};

class ReferenceMutants : public testing::TestWithParam<Shape> {};

TEST_P(ReferenceMutants, AreCaughtOrArguedAway) {
  const auto [num_devices, grid_n, grid_k, transposed] = GetParam();
  const Chip chip = test::chip_of_generation(6);
  const Kernel kernel = reference_kernel({.ring = {{num_devices}, 0},
                                          .m = 16 * num_devices,
                                          .k = 128 * grid_k,
                                          .n = std::int64_t{128} * grid_n * num_devices,
                                          .element = Element::kBF16,
                                          .bn = 128,
                                          .bk = 128,
                                          .rhs_transposed = transposed},
                                         chip);
  test::expect_all_mutants_caught(kernel, chip);
}

INSTANTIATE_TEST_SUITE_P(Shapes, ReferenceMutants,
                         testing::Values(Shape{2, 1, 1, false}, Shape{2, 2, 2, false},
                                         Shape{3, 1, 1, false}, Shape{3, 2, 1, true},
                                         Shape{4, 2, 2, false}, Shape{5, 1, 1, false}));

}  // namespace
}  // namespace cmm::tpu
