#include "output_hash.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <bitset>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace cmm::cli {
namespace {

// Columns [begin, end) of a [rows, cols] matrix.
OutputSlice slice(std::vector<float>& data, std::int64_t rows, std::int64_t cols,
                  std::int64_t begin, std::int64_t end) {
  return {begin, ConstMatrixRef(data.data() + begin, DType::kF32, rows, end - begin, cols)};
}

std::uint64_t hash_of(std::vector<float>& data, std::int64_t rows, std::int64_t cols) {
  return output_hash({.m = rows, .n = cols}, hash_part(0, slice(data, rows, cols, 0, cols)));
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
      const std::uint64_t last = hash_part(0, slice(data, 5, 12, b, 12));  // parts in any order
      const std::uint64_t sum =
          last + hash_part(0, slice(data, 5, 12, 0, a)) + hash_part(0, slice(data, 5, 12, a, b));
      EXPECT_EQ(output_hash({.m = 5, .n = 12}, sum), whole) << a << " " << b;
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

// A sum hides what its terms have in common: each bit of an element must turn about half of the
// sum's bits, and changes in two elements, however alike, must not cancel out.
TEST(OutputHash, LosesNothingByAddingUp) {
  std::vector<float> data(64 * 64, 0.0f);
  const std::uint64_t zeros = hash_part(0, slice(data, 64, 64, 0, 64));
  double turned = 0;
  std::set<std::uint64_t> sums = {zeros};
  std::vector<std::uint64_t> changes;
  for (std::size_t i = 0; i < data.size(); i += 61) {
    for (int bit = 0; bit < 32; ++bit) {
      std::vector<float> other = data;
      other[i] = std::bit_cast<float>(1u << bit);
      const std::uint64_t sum = hash_part(0, slice(other, 64, 64, 0, 64));
      turned += static_cast<double>(std::bitset<64>(sum ^ zeros).count());
      EXPECT_TRUE(sums.insert(sum).second) << i << " " << bit;
      changes.push_back(sum - zeros);
    }
  }
  EXPECT_NEAR(turned / static_cast<double>(changes.size()), 32.0, 0.5);
  std::set<std::uint64_t> pairs;
  for (std::size_t a = 0; a < changes.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      EXPECT_TRUE(pairs.insert(changes[a] + changes[b]).second) << a << " " << b;
    }
  }
}

TEST(OutputHash, SeesTheShapeTheTypeAndTheSides) {
  std::vector<float> data = counting(60);
  EXPECT_NE(hash_of(data, 5, 12), hash_of(data, 12, 5));
  EXPECT_NE(hash_of(data, 0, 12), hash_of(data, 12, 0));
  const OutputSlice as_f16 = {0, ConstMatrixRef(data.data(), DType::kF16, 5, 12, 12)};
  const OutputSlice as_bf16 = {0, ConstMatrixRef(data.data(), DType::kBF16, 5, 12, 12)};
  EXPECT_NE(output_hash({.m = 5, .n = 12, .dtype = DType::kF16}, hash_part(0, as_f16)),
            output_hash({.m = 5, .n = 12, .dtype = DType::kBF16}, hash_part(0, as_bf16)));
  const OutputSlice one = slice(data, 5, 12, 0, 12);
  EXPECT_NE(hash_part(0, one), hash_part(1, one));
  EXPECT_NE(output_hash({.m = 5, .n = 12, .num_sides = 1}, 0),
            output_hash({.m = 5, .n = 12, .num_sides = 2}, 0));
}

}  // namespace
}  // namespace cmm::cli
