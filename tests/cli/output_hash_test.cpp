#include "output_hash.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

namespace cmm::cli {
namespace {

using Side = std::vector<OutputSlice>;

// Columns [begin, end) of a [rows, cols] matrix.
OutputSlice slice(std::vector<float>& data, std::int64_t rows, std::int64_t cols,
                  std::int64_t begin, std::int64_t end) {
  return {begin, ConstMatrixRef(data.data() + begin, DType::kF32, rows, end - begin, cols)};
}

std::uint64_t hash_of(std::vector<float>& data, std::int64_t rows, std::int64_t cols) {
  const std::vector<Side> sides = {{slice(data, rows, cols, 0, cols)}};
  return output_hash(sides);
}

std::vector<float> counting(std::size_t size) {
  std::vector<float> data(size);
  std::iota(data.begin(), data.end(), 1.0f);
  return data;
}

TEST(OutputHash, IsTheSameForEveryCutOfTheColumns) {
  std::vector<float> data = counting(5 * 12);
  const std::uint64_t whole = hash_of(data, 5, 12);
  for (std::int64_t a : {0, 1, 5, 12}) {
    for (std::int64_t b = a; b <= 12; ++b) {
      const std::vector<Side> sides = {
          {slice(data, 5, 12, 0, a), slice(data, 5, 12, a, b), slice(data, 5, 12, b, 12)}};
      EXPECT_EQ(output_hash(sides), whole) << a << " " << b;
    }
  }
}

TEST(OutputHash, SeesEveryBitAndEveryPlace) {
  std::vector<float> data = counting(5 * 12);
  const std::uint64_t whole = hash_of(data, 5, 12);
  for (std::size_t i = 0; i < data.size(); ++i) {
    for (int bit = 0; bit < 32; ++bit) {
      std::vector<float> other = data;
      other[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(other[i]) ^ (1u << bit));
      EXPECT_NE(hash_of(other, 5, 12), whole) << i << " " << bit;
    }
    for (std::size_t j = 0; j < i; ++j) {
      std::vector<float> other = data;
      std::swap(other[i], other[j]);
      EXPECT_NE(hash_of(other, 5, 12), whole) << i << " " << j;
    }
  }
}

TEST(OutputHash, SeesTheShapeTheTypeAndTheSides) {
  std::vector<float> data = counting(60);
  EXPECT_NE(hash_of(data, 5, 12), hash_of(data, 12, 5));
  EXPECT_NE(hash_of(data, 0, 12), hash_of(data, 12, 0));
  const std::vector<Side> as_f16 = {{{0, ConstMatrixRef(data.data(), DType::kF16, 5, 12, 12)}}};
  const std::vector<Side> as_bf16 = {{{0, ConstMatrixRef(data.data(), DType::kBF16, 5, 12, 12)}}};
  EXPECT_NE(output_hash(as_f16), output_hash(as_bf16));
  const Side one = {slice(data, 5, 12, 0, 12)};
  EXPECT_NE(output_hash(std::vector<Side>{one}), output_hash(std::vector<Side>{one, one}));
}

}  // namespace
}  // namespace cmm::cli
