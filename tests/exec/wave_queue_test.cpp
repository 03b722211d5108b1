// Waves take every row once, in parts of bounded size.
#include "exec/wave_queue.hpp"

#include <gtest/gtest.h>

#include <map>

namespace cmm::exec {
namespace {

TEST(WaveQueue, TakesEveryRowOnceInBoundedWaves) {
  const std::vector<std::vector<std::int64_t>> cases = {
      {}, {0}, {5}, {100}, {0, 0, 7}, {10, 10, 10}, {99, 1, 0, 33, 64}, {1, 250, 1}};
  for (const auto& chunk_rows : cases) {
    for (const std::int64_t max_rows : {1, 7, 10, 64, 1000}) {
      WaveQueue queue(8, max_rows);
      std::int64_t first = 0;
      std::map<int, std::int64_t> next_row;  // by chunk
      std::map<int, std::int64_t> end_row;
      for (int chunk = 0; const std::int64_t rows : chunk_rows) {
        queue.add(chunk, {first, first + rows});
        next_row[chunk] = first;
        end_row[chunk] = first += rows;
        ++chunk;
      }
      const std::int64_t num_rows = first;
      ASSERT_EQ(queue.num_rows(), num_rows);
      std::vector<Part> parts;
      std::int64_t num_waves = 0;
      while (!queue.empty()) {
        queue.take(parts);
        ++num_waves;
        std::int64_t wave_rows = 0;
        for (std::size_t i = 0; i < parts.size(); ++i) {
          const Part& part = parts[i];
          ASSERT_EQ(part.wave_row, wave_rows);
          ASSERT_EQ(part.rows.begin, next_row[part.chunk]);
          next_row[part.chunk] = part.rows.end;
          ASSERT_EQ(part.last, part.rows.end == end_row[part.chunk]);
          ASSERT_TRUE(i == 0 || parts[i - 1].rows.end <= part.rows.begin);
          wave_rows += part.rows.size();
        }
        ASSERT_LE(wave_rows, max_rows);
        ASSERT_LE(num_waves, ceil_div(num_rows, max_rows) + 1);
      }
      ASSERT_EQ(next_row, end_row);
      ASSERT_EQ(queue.num_rows(), 0);
    }
  }
}

TEST(WaveQueue, SpreadsRowsEvenlyOverTheWavesTheyNeed) {
  WaveQueue queue(1, 100);
  queue.add(0, {0, 101});
  std::vector<Part> parts;
  queue.take(parts);
  EXPECT_EQ(parts[0].rows, (Range{0, 51}));
  queue.take(parts);
  EXPECT_EQ(parts[0].rows, (Range{51, 101}));
  EXPECT_TRUE(queue.empty());
}

TEST(WaveQueue, ChunksThatArriveLaterJoinTheNextWave) {
  WaveQueue queue(2, 10);
  queue.add(1, {20, 35});
  std::vector<Part> parts;
  queue.take(parts);
  EXPECT_EQ(parts[0].rows, (Range{20, 28}));
  queue.add(0, {0, 2});
  queue.take(parts);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].chunk, 0);  // in the order of rows
  EXPECT_EQ(parts[1].rows, (Range{28, 35}));
  EXPECT_EQ(parts[1].wave_row, 2);
}

}  // namespace
}  // namespace cmm::exec
