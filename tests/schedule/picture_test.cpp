#include "schedule/picture.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cmm/error.hpp"
#include "schedule/shapes.hpp"

namespace cmm::schedule {
namespace {

TEST(Picture, ShowsWhoGetsWhatFromWhom) {
  EXPECT_EQ(picture({.algorithm = Algorithm::kRing, .num_ranks = 3}),
            "ring, 3 ranks\n"
            "step  rank 0   rank 1   rank 2\n"
            "0     0        1        2\n"
            "1     2<2      0<0      1<1\n"
            "2     1<2      2<0      0<1\n");
}

TEST(Picture, ShowsEachChunkOfAStepInALine) {
  EXPECT_EQ(picture({.algorithm = Algorithm::kBidirectional, .num_ranks = 3}),
            "bidirectional, 3 ranks, 2 chunks per shard\n"
            "step  rank 0   rank 1   rank 2\n"
            "0     0.0      1.0      2.0\n"
            "      0.1      1.1      2.1\n"
            "1     2.0<2    0.0<0    1.0<1\n"
            "      1.1<1    2.1<2    0.1<0\n"
            "2     1.0<2    2.0<0    0.0<1\n"
            "      2.1<1    0.1<2    1.1<0\n");
}

TEST(Picture, MarksWhatComesFromAnotherHost) {
  EXPECT_EQ(picture({.algorithm = Algorithm::kHierarchical, .num_ranks = 3, .num_hosts = 2}),
            "hierarchical, 3 ranks, 2 hosts\n"
            "step  rank 0   rank 1   rank 2\n"
            "0     0        1        2\n"
            "1     2<<2     0<0      0<<0\n"
            "      1<1\n"
            "2              2<0      1<<1\n");
  EXPECT_EQ(picture({.algorithm = Algorithm::kRing, .num_ranks = 2, .num_hosts = 2}),
            "ring, 2 ranks, 2 hosts\n"
            "step  rank 0   rank 1\n"
            "0     0        1\n"
            "1     1<<1     0<<0\n");
}

TEST(Picture, OfOneRank) {
  EXPECT_EQ(picture({.algorithm = Algorithm::kRing}), "ring, 1 rank\nstep  rank 0\n0     0\n");
}

TEST(Picture, RefusesMoreThanEightRanks) {
  EXPECT_NE(picture({.num_ranks = 8}), "");
  try {
    picture({.num_ranks = 9});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_STREQ(error.what(), "num_ranks is 9; a picture shows at most 8");
  }
  EXPECT_THROW(picture({.num_ranks = 0}), Error);
}

// docs/schedules.md shows pictures in blocks fenced by ```text, and no other text in such blocks.
std::vector<std::string> text_blocks(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  std::vector<std::string> blocks;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "```text") {
      inside = true;
      blocks.emplace_back();
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

TEST(Picture, IsWhatTheDocumentationShows) {
  const std::vector<std::string> blocks =
      text_blocks(std::string(CMM_SOURCE_DIR) + "/docs/schedules.md");
  const std::vector<Shape> shown = {
      {.algorithm = Algorithm::kDirect, .num_ranks = 4},
      {.algorithm = Algorithm::kRing, .num_ranks = 4},
      {.algorithm = Algorithm::kBidirectional, .num_ranks = 4},
      {.algorithm = Algorithm::kRecursiveDoubling, .num_ranks = 4},
      {.algorithm = Algorithm::kRecursiveDoubling, .num_ranks = 6},
      {.algorithm = Algorithm::kHierarchical, .num_ranks = 4, .num_hosts = 2},
      {.algorithm = Algorithm::kHierarchical, .num_ranks = 6, .num_hosts = 3},
  };
  ASSERT_EQ(blocks.size(), shown.size());
  for (std::size_t i = 0; i < shown.size(); ++i) EXPECT_EQ(blocks[i], picture(shown[i]));
}

}  // namespace
}  // namespace cmm::schedule
