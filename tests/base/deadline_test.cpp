#include "base/deadline.hpp"

#include <gtest/gtest.h>

namespace cmm {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kSecondNs = 1'000'000'000;

TEST(Deadline, ExpiresForOneThatLooksOften) {
  const std::int64_t begin = now_ns() - 5 * kSecondNs;
  const Deadline deadline(2s, begin);
  for (int tenths = 1; tenths < 50; ++tenths) deadline.look(begin + tenths * kSecondNs / 10);
  EXPECT_TRUE(deadline.expired());
  EXPECT_EQ(deadline.left_ms(), 0);
}

// Wherever the process is stopped: while it sleeps, between two sleeps, in its work.
TEST(Deadline, CountsATenthOfItsLimitOrASecondForAStop) {
  const std::int64_t begin = now_ns() - 100 * kSecondNs;
  for (const auto& [limit, counted] : {std::pair(5s, 500ms), std::pair(80s, 1000ms)}) {
    const Deadline deadline(limit, begin);
    deadline.look(begin + kSecondNs / 2);
    EXPECT_EQ(deadline.left_ms(), 0);
    EXPECT_FALSE(deadline.expired());
    const std::chrono::milliseconds left = limit - 500ms - counted;
    EXPECT_LE(deadline.left_ms(), left.count());
    EXPECT_GT(deadline.left_ms(), left.count() - 4000);
  }
}

// What was left out once stays left out in the waits that follow.
TEST(Deadline, CountsOnAfterAStop) {
  const std::int64_t begin = now_ns();
  const Deadline deadline(20s, begin);
  const std::int64_t stopped = begin + 60 * kSecondNs;
  deadline.look(stopped);
  for (int tenths = 1; tenths <= 100; ++tenths) deadline.look(stopped + tenths * kSecondNs / 10);
  const std::int64_t end = begin + (60 + 20 - 1) * kSecondNs;
  EXPECT_LE(deadline.left_ms(), (end - begin) / 1'000'000);
  EXPECT_GT(deadline.left_ms(), (end - begin) / 1'000'000 - 10'000);
}

// A process that gets a core once in a while only.
TEST(Deadline, ExpiresThoughEveryLookComesLate) {
  const std::int64_t begin = now_ns() - 30 * kSecondNs;
  const Deadline deadline(20s, begin);
  for (int look = 1; look <= 27; ++look) deadline.look(begin + look * kSecondNs * 11 / 10);
  EXPECT_TRUE(deadline.expired());
}

}  // namespace
}  // namespace cmm
