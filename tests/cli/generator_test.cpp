// However a generated matrix is cut, stored or widened, its elements are the same.
#include "generator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "buffer.hpp"

namespace cmm::cli {
namespace {

constexpr GeneratedMatrix kX{.seed = 7, .id = 0};

float value_at(const Matrix& m, std::int64_t i, std::int64_t j) {
  const std::int64_t at = i * m.cols() + j;
  const void* data = m.ref().data;
  return m.dtype() == DType::kF32    ? static_cast<const float*>(data)[at]
         : m.dtype() == DType::kBF16 ? to_float(static_cast<const BFloat16*>(data)[at])
                                     : to_float(static_cast<const Float16*>(data)[at]);
}

class Generator : public testing::TestWithParam<DType> {};

TEST_P(Generator, BlocksAgreeWithTheWhole) {
  Matrix whole(GetParam(), 9, 13);
  generate_block(kX, {}, whole.ref());
  Matrix block(GetParam(), 4, 5);
  generate_block(kX, {3, 7}, block.ref());
  Matrix stored(GetParam(), 5, 4);
  generate_transposed(kX, {3, 7}, stored.ref());
  std::vector<float> wide(20);
  generate_widened(kX, {3, 7}, GetParam(), MatrixView<float>(wide.data(), 4, 5));
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 5; ++j) {
      const float want = value_at(whole, 3 + i, 7 + j);
      EXPECT_EQ(value_at(block, i, j), want);
      EXPECT_EQ(value_at(stored, j, i), want);
      EXPECT_EQ(wide[static_cast<std::size_t>(i * 5 + j)], want);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Types, Generator, testing::Values(DType::kF32, DType::kBF16, DType::kF16));

TEST(GeneratorValues, AreUniformAndDifferBySeedMatrixRowAndColumn) {
  Matrix m(DType::kF32, 100, 100);
  generate_block(kX, {}, m.ref());
  std::set<float> values;
  double sum = 0, sum_of_squares = 0;
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < 100; ++j) {
      const float v = value_at(m, i, j);
      ASSERT_GE(v, -1.0f);
      ASSERT_LT(v, 1.0f);
      values.insert(v);
      sum += v;
      sum_of_squares += v * v;
    }
  }
  EXPECT_GT(values.size(), 9980u);  // of 2^24: some 3 pairs coincide
  // Standard deviations of the estimates: 0.0058 and 0.003.
  EXPECT_NEAR(sum / 1e4, 0.0, 0.03);
  EXPECT_NEAR(sum_of_squares / 1e4, 1.0 / 3, 0.015);

  for (GeneratedMatrix other : {GeneratedMatrix{8, 0}, GeneratedMatrix{7, 1}}) {
    Matrix n(DType::kF32, 100, 100);
    generate_block(other, {}, n.ref());
    int equal = 0;
    for (int i = 0; i < 100; ++i) {
      for (int j = 0; j < 100; ++j) equal += value_at(m, i, j) == value_at(n, i, j);
    }
    EXPECT_LT(equal, 5);
  }
}

}  // namespace
}  // namespace cmm::cli
