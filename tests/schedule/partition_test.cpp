#include "schedule/partition.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "cmm/error.hpp"
#include "schedule/shapes.hpp"

namespace cmm::schedule {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// Shards follow each other without a gap, and so do the chunks of each.
void expect_cover(const Partition& partition, const Shape& shape, std::int64_t m) {
  EXPECT_EQ(partition.num_rows(), m);
  const int C = chunks_per_shard(shape);
  std::int64_t row = 0, largest = 0;
  for (int rank = 0; rank < shape.num_ranks; ++rank) {
    EXPECT_EQ(partition.shard(rank).begin, row);
    for (int piece = 0; piece < C; ++piece) {
      const Range rows = partition.chunk(rank * C + piece);
      EXPECT_EQ(rows.begin, row);
      EXPECT_GE(rows.size(), 0);
      row = rows.end;
      largest = std::max(largest, rows.size());
      const std::int64_t spare = rows.size() - partition.shard(rank).size() / C;
      EXPECT_EQ(spare, piece < partition.shard(rank).size() % C ? 1 : 0);
    }
    EXPECT_EQ(partition.shard(rank).end, row);
  }
  EXPECT_EQ(row, m);
  EXPECT_EQ(partition.largest_chunk(), largest);
}

TEST(Partition, CutsEvenly) {
  for (int P = 1; P <= 17; ++P)
    for (const Shape& shape : shapes(P, 4))
      for (const std::int64_t m : {0, 1, 2, 3, 7, 16, 17, 257, 1024}) {
        const Partition partition = Partition::even(m, shape);
        expect_cover(partition, shape, m);
        for (int rank = 0; rank < P; ++rank)
          EXPECT_EQ(partition.shard(rank).size(), m / P + (rank < m % P ? 1 : 0));
      }
}

TEST(Partition, TakesTheRowsOfEachRank) {
  const std::vector<std::int64_t> rows = {3, 0, 10, 1};
  for (const Shape& shape : shapes(4, 4)) {
    const Partition partition = Partition::uneven(rows, shape);
    expect_cover(partition, shape, 14);
    for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(partition.shard(rank).size(), rows[rank]);
  }
}

TEST(Partition, HoldsForTheLargestNumbers) {
  const Shape shape{.algorithm = Algorithm::kRing, .num_ranks = 3, .num_pieces = 4};
  expect_cover(Partition::even(kMax, shape), shape, kMax);
  expect_cover(Partition::uneven(std::vector<std::int64_t>{kMax - 2, 0, 2}, shape), shape, kMax);
}

template <class Call>
std::string complaint(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "";
}

TEST(Partition, RefusesRowsThatCannotBe) {
  const Shape shape{.algorithm = Algorithm::kRing, .num_ranks = 3};
  const auto uneven = [&](std::vector<std::int64_t> rows) {
    return complaint([&] { Partition::uneven(rows, shape); });
  };
  EXPECT_EQ(complaint([&] { Partition::even(-1, shape); }), "m is -1; it must be 0 or more");
  EXPECT_EQ(uneven({1, 2}), "rows are given for 2 ranks; there are 3");
  EXPECT_EQ(uneven({1, 2, 3, 4}), "rows are given for 4 ranks; there are 3");
  EXPECT_EQ(uneven({1, -2, 3}), "rank 1 has -2 rows; it must have 0 or more");
  EXPECT_EQ(uneven({kMax, 0, 1}),
            "rank 2 has 1 rows, with which the sum over all ranks leaves the range of a 64-bit "
            "integer");
  EXPECT_EQ(uneven({kMax, 0, 0}), "");
}

}  // namespace
}  // namespace cmm::schedule
