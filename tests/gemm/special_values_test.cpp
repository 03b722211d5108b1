// Infinities, NaN, signed zeros, subnormals and overflow go through a product as the definition
// says, on every instruction set and in every cut.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "gemm/isa_param.hpp"
#include "gemm/local_product.hpp"

namespace cmm::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class SpecialValues : public IsaTest {
 protected:
  // Each of `specials` at several random places of x and y, the rest ordinary.
  void expect_right(DType dtype, const std::vector<float>& specials, int places) {
    for (DType out_dtype : kDTypes) {
      ProductCase c = {.isa = isa(), .dtype = dtype, .out_dtype = out_dtype};
      c.m = 9;
      c.k = 141;
      c.n = 70;
      Operands operands = random_operands(c);
      std::mt19937 random(7);
      for (float special : specials) {
        for (int i = 0; i < places; ++i) {
          Values& values = i % 2 == 0 ? operands.x : operands.y[0];
          values.data[random() % values.data.size()] = rounded(dtype, special);
        }
      }
      const auto want = oracle_product(c, operands);
      EXPECT_EQ(differences(c, driver_product(c, operands, {}), want), "");
      Operands few = operands;
      few.x = Values(4, c.k);
      std::copy_n(operands.x.data.begin(), few.x.data.size(), few.x.data.begin());
      c.m = 4;
      EXPECT_EQ(differences(c, driver_product(c, few, {.decode = true}), oracle_product(c, few)),
                "");
    }
  }
};

TEST_P(SpecialValues, InfinitiesAndNaN) {
  for (DType dtype : kDTypes) {
    expect_right(dtype, {kInf}, 2);
    expect_right(dtype, {-kInf}, 2);
    expect_right(dtype, {kInf, -kInf, 0.0f}, 40);  // Inf - Inf and Inf * 0
    expect_right(dtype, {kNaN}, 2);
  }
}

TEST_P(SpecialValues, SignedZerosAndSubnormals) {
  for (DType dtype : kDTypes) {
    expect_right(dtype, {-0.0f, 0.0f}, 500);
    // Subnormal in f32 and bf16, in f16, and products that are.
    expect_right(dtype, {1e-40f, -1e-40f, 5.9e-8f, -3e-6f, 1e-20f, -1e-22f}, 200);
  }
}

// All operands tiny, so that sums are subnormal themselves.
TEST_P(SpecialValues, SumsOfSubnormals) {
  for (DType dtype : {DType::kF32, DType::kBF16}) {
    ProductCase c = {.isa = isa(), .dtype = dtype, .m = 8, .k = 33, .n = 40};
    Operands operands = random_operands(c);
    for (float& value : operands.x.data) value = rounded(dtype, value * 1e-19f);
    for (float& value : operands.y[0].data) value = rounded(dtype, value * 1e-19f);
    EXPECT_EQ(differences(c, driver_product(c, operands, {}), oracle_product(c, operands)), "");
  }
}

TEST_P(SpecialValues, HugeValuesOverflowToInfinity) {
  for (DType dtype : kDTypes) {
    expect_right(dtype, {6e4f, -6e4f, 65504.0f}, 30);  // overflows f16 outputs
    if (dtype != DType::kF16) expect_right(dtype, {3e38f, -3e38f, 1e25f}, 30);
  }
}

// The padding of y's last panel and of an odd k must not turn an Inf or NaN of x into anything.
TEST_P(SpecialValues, PaddingMeetsNoInfinity) {
  for (DType dtype : kDTypes) {
    for (std::int64_t k : {1, 3, 129}) {
      ProductCase c = {.isa = isa(), .dtype = dtype, .m = 3, .k = k, .n = 33};
      Operands operands = random_operands(c);
      operands.x.at(0, k - 1) = kInf;
      operands.x.at(1, k - 1) = kNaN;
      operands.y[0].at(k - 1, 0) = -kInf;
      const auto want = oracle_product(c, operands);
      EXPECT_EQ(differences(c, driver_product(c, operands, {}), want), "");
      EXPECT_EQ(differences(c, driver_product(c, operands, {.decode = true}), want), "");
    }
  }
}

INSTANTIATE_ISA_TESTS(SpecialValues);

}  // namespace
}  // namespace cmm::test
