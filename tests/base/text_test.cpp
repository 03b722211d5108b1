#include "base/text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace cmm::test {
namespace {

TEST(Text, JoinedHasOneSeparatorBetweenItems) {
  EXPECT_EQ(joined(std::vector<int>{}, "x"), "");
  EXPECT_EQ(joined(std::vector<int>{2}, "x"), "2");
  EXPECT_EQ(joined(std::array{2, 4, 8}, "x"), "2x4x8");
  EXPECT_EQ(joined(std::vector<std::string>{"", "a", ""}, ", "), ", a, ");
}

TEST(Text, JoinedTakesMembersAndFunctions) {
  struct Axis {
    std::string name;
    int size;
    int twice() const { return 2 * size; }
  };
  const std::vector<Axis> axes = {{"dp", 2}, {"tp", 4}};
  EXPECT_EQ(joined(axes, ", ", &Axis::name), "dp, tp");
  EXPECT_EQ(joined(axes, "+", &Axis::twice), "4+8");
  EXPECT_EQ(joined(axes, " ", [](const Axis& axis) { return cat(axis.name, "=", axis.size); }),
            "dp=2 tp=4");
}

}  // namespace
}  // namespace cmm::test
