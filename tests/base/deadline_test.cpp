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
  EXPECT_TRUE(deadline.expired_while_awake());
  EXPECT_EQ(deadline.left_ms(), 0);
}

// Wherever the process is stopped: while it sleeps, between two sleeps, in its work.
TEST(Deadline, DoesNotCountTimeWithoutALook) {
  const std::int64_t begin = now_ns() - 100 * kSecondNs;
  const Deadline deadline(20s, begin);
  deadline.look(begin + kSecondNs / 2);
  EXPECT_TRUE(deadline.expired());
  EXPECT_FALSE(deadline.expired_while_awake());
  EXPECT_GT(deadline.left_ms(), 10'000);
  EXPECT_LE(deadline.left_ms(), 19'500);
}

// What was left out once stays left out in the waits that follow.
TEST(Deadline, CountsOnAfterAStop) {
  const std::int64_t begin = now_ns() - 10 * kSecondNs;
  const Deadline deadline(2s, begin);
  deadline.look(begin + 6 * kSecondNs);  // six seconds later: stopped all the while
  for (int tenths = 61; tenths < 75; ++tenths) deadline.look(begin + tenths * kSecondNs / 10);
  EXPECT_FALSE(deadline.expired_while_awake());  // the rest to now was a stop as well
  const std::int64_t now = now_ns();
  for (int tenths = 1; tenths < 10; ++tenths) deadline.look(now + tenths * kSecondNs / 10);
  EXPECT_LT(deadline.left_ms(), 700);
}

}  // namespace
}  // namespace cmm
