// Claims hand out every unit exactly once, within their limits, whoever asks.
#include "exec/claims.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace cmm::exec {
namespace {

TEST(Claims, CoverEveryUnitOnceInOrder) {
  for (const std::int64_t num_units : {0, 1, 7, 8, 9, 64, 1000}) {
    for (const std::int64_t boundary : {1, 8, 5}) {
      for (const std::int64_t max_claim : {std::int64_t{1}, boundary}) {
        for (const int num_threads : {1, 2, 16}) {
          Claims claims;
          claims.reset({num_units, max_claim, boundary, num_threads});
          std::int64_t next = 0;
          for (Range claim = claims.claim(); claim.size() > 0; claim = claims.claim()) {
            ASSERT_EQ(claim.begin, next);
            ASSERT_LE(claim.size(), max_claim);
            ASSERT_EQ(claim.begin / boundary, (claim.end - 1) / boundary) << "crosses a boundary";
            next = claim.end;
          }
          ASSERT_EQ(next, num_units);
        }
      }
    }
  }
}

TEST(Claims, OneThreadTakesTheLargestClaims) {
  Claims claims;
  claims.reset({.num_units = 20, .max_claim = 8, .boundary = 8, .num_threads = 1});
  EXPECT_EQ(claims.claim(), (Range{0, 8}));
  EXPECT_EQ(claims.claim(), (Range{8, 16}));
  EXPECT_EQ(claims.claim(), (Range{16, 20}));
}

TEST(Claims, ShrinkTowardsTheEndForSeveralThreads) {
  Claims claims;
  claims.reset({.num_units = 64, .max_claim = 8, .boundary = 8, .num_threads = 2});
  EXPECT_EQ(claims.claim().size(), 8);
  std::int64_t last = 8;
  std::int64_t smallest = 8;
  for (Range claim = claims.claim(); claim.size() > 0; claim = claims.claim()) {
    smallest = std::min(smallest, claim.size());
    last = claim.size();
  }
  EXPECT_EQ(last, 1);
  EXPECT_EQ(smallest, 1);
}

TEST(Claims, AreDisjointBetweenThreads) {
  Claims claims;
  constexpr std::int64_t kUnits = 20000;
  claims.reset({.num_units = kUnits, .max_claim = 4, .boundary = 4, .num_threads = 4});
  std::vector<std::atomic<int>> taken(kUnits);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (Range claim = claims.claim(); claim.size() > 0; claim = claims.claim()) {
        for (std::int64_t i = claim.begin; i < claim.end; ++i) {
          taken[static_cast<std::size_t>(i)].fetch_add(1);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& count : taken) ASSERT_EQ(count.load(), 1);
}

}  // namespace
}  // namespace cmm::exec
