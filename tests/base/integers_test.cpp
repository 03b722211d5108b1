#include "base/integers.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace cmm::test {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(Integers, CeilDivAndRoundUp) {
  for (std::int64_t b = 1; b <= 9; ++b) {
    for (std::int64_t a = 0; a <= 40; ++a) {
      const std::int64_t q = ceil_div(a, b);
      EXPECT_GE(q * b, a);
      EXPECT_LT((q - 1) * b, a);
      EXPECT_EQ(round_up(a, b), q * b);
    }
  }
}

TEST(Integers, CeilDivDoesNotOverflow) {
  EXPECT_EQ(ceil_div(kMax, 1), kMax);
  EXPECT_EQ(ceil_div(kMax, 2), kMax / 2 + 1);
  EXPECT_EQ(ceil_div(kMax, kMax), 1);
}

TEST(Integers, CheckedProductIsExactOrMinusOne) {
  EXPECT_EQ(checked_product(0, kMax), 0);
  EXPECT_EQ(checked_product(kMax, 0), 0);
  EXPECT_EQ(checked_product(kMax, 1), kMax);
  EXPECT_EQ(checked_product(kMax, 2), -1);
  EXPECT_EQ(checked_product(std::int64_t{1} << 31, std::int64_t{1} << 31), std::int64_t{1} << 62);
  EXPECT_EQ(checked_product(std::int64_t{1} << 31, std::int64_t{1} << 32), -1);
  EXPECT_EQ(checked_product(3037000499, 3037000500), 9223372033963249500);
  EXPECT_EQ(checked_product(3037000500, 3037000500), -1);
}

TEST(Integers, EvenPartsCoverEverythingOnceAndDifferByOne) {
  for (std::int64_t parts = 1; parts <= 12; ++parts) {
    for (std::int64_t total = 0; total <= 40; ++total) {
      std::int64_t next = 0;
      for (std::int64_t i = 0; i < parts; ++i) {
        const Range part = even_part(total, parts, i);
        EXPECT_EQ(part.begin, next);
        EXPECT_GE(part.size(), total / parts);
        EXPECT_LE(part.size(), ceil_div(total, parts));
        EXPECT_LE(part.size(), even_part(total, parts, 0).size());
        next = part.end;
      }
      EXPECT_EQ(next, total);
    }
  }
}

}  // namespace
}  // namespace cmm::test
