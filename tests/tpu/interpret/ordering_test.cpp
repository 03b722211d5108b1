#include "tpu/interpret/ordering.hpp"

#include <gtest/gtest.h>

namespace cmm::tpu {
namespace {

Box rows(std::int64_t begin, std::int64_t count) {
  return {.rank = 2, .begin = {begin, 0}, .size = {count, 4}};
}
Access by_device(int device, Time time, bool writes, Box box) {
  return {.box = box, .writes = writes, .copy = -1, .moment = {device, time}, .device = device};
}
Access by_copy(int copy, bool writes, Box box) {
  return {.box = box, .writes = writes, .copy = copy, .moment = {}, .device = 0};
}

class AccessListTest : public testing::Test {
 protected:
  bool conflicts(const Access& access, const Clock& clock) {
    return list.add(access, clock, copies) != nullptr;
  }
  AccessList list;
  std::vector<CopyMoments> copies{3};
};
constexpr bool kReads = false, kWrites = true;

TEST_F(AccessListTest, ConflictsWhereNothingIsKnown) {
  EXPECT_FALSE(conflicts(by_device(0, 5, kWrites, rows(0, 8)), {5, 0}));
  EXPECT_TRUE(conflicts(by_device(1, 1, kReads, rows(7, 4)), {4, 1}));
  EXPECT_FALSE(conflicts(by_device(1, 1, kReads, rows(8, 4)), {4, 1}));
  EXPECT_FALSE(conflicts(by_device(1, 1, kReads, rows(7, 4)), {5, 1}));
}

TEST_F(AccessListTest, ReadsDoNotConflictWithReads) {
  EXPECT_FALSE(conflicts(by_device(0, 5, kReads, rows(0, 8)), {5, 0}));
  EXPECT_FALSE(conflicts(by_device(1, 1, kReads, rows(0, 8)), {0, 1}));
  EXPECT_TRUE(conflicts(by_device(1, 1, kWrites, rows(0, 8)), {0, 1}));
}

TEST_F(AccessListTest, CopiesAreOverWhenTheirEndIsKnown) {
  EXPECT_FALSE(conflicts(by_copy(0, kReads, rows(0, 8)), {1, 0}));
  EXPECT_FALSE(conflicts(by_copy(0, kWrites, rows(8, 8)), {1, 0}));
  EXPECT_TRUE(conflicts(by_device(0, 9, kWrites, rows(0, 8)), {9, 9}));
  copies[0].departed = {0, 4};
  EXPECT_TRUE(conflicts(by_device(1, 1, kWrites, rows(0, 8)), {3, 9}));
  EXPECT_TRUE(conflicts(by_device(1, 1, kReads, rows(8, 8)), {9, 9}));  // it may not have come
  copies[0].arrived = {1, 6};
  EXPECT_TRUE(conflicts(by_device(0, 5, kReads, rows(8, 8)), {3, 5}));
  EXPECT_FALSE(conflicts(by_device(0, 5, kReads, rows(8, 8)), {3, 6}));
  EXPECT_FALSE(conflicts(by_device(0, 5, kWrites, rows(0, 8)), {3, 6}));  // it has left, too
}

TEST_F(AccessListTest, KeepsWhatALaterAccessCoversInPart) {
  EXPECT_FALSE(conflicts(by_device(0, 1, kWrites, rows(0, 16)), {1, 0}));
  EXPECT_FALSE(conflicts(by_device(0, 2, kWrites, rows(8, 8)), {2, 0}));
  EXPECT_TRUE(conflicts(by_device(1, 1, kWrites, rows(0, 8)), {0, 1}));
}

TEST_F(AccessListTest, KeepsAWriteThatALaterReadCovers) {
  EXPECT_FALSE(conflicts(by_device(0, 1, kWrites, rows(0, 8)), {1, 0}));
  EXPECT_FALSE(conflicts(by_device(0, 2, kReads, rows(0, 8)), {2, 0}));
  EXPECT_TRUE(conflicts(by_device(1, 1, kReads, rows(0, 8)), {0, 1}));
}

TEST_F(AccessListTest, StaysShort) {
  for (Time time = 1; time < 1000; ++time) {
    ASSERT_FALSE(conflicts(by_device(0, time, kWrites, rows(0, 8)), {time, 0}));
    ASSERT_FALSE(conflicts(by_device(0, time, kReads, rows(0, 4)), {time, 0}));
    ASSERT_FALSE(list.should_prune());
  }
}

TEST_F(AccessListTest, PrunesWhatEverybodyKnows) {
  for (int row = 0; row < 20; ++row) {
    ASSERT_FALSE(conflicts(by_device(0, 5, kWrites, rows(row, 1)), {5, 0}));
  }
  EXPECT_TRUE(list.should_prune());
  const Clock knows = {5, 1}, does_not = {4, 1};
  list.prune(std::vector<const Clock*>{&knows, &does_not}, copies);
  EXPECT_TRUE(conflicts(by_device(1, 1, kReads, rows(3, 1)), does_not));
  list.prune(std::vector<const Clock*>{&knows}, copies);
  EXPECT_FALSE(conflicts(by_device(1, 1, kReads, rows(3, 1)), does_not));
}

}  // namespace
}  // namespace cmm::tpu
