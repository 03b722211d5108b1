#include "tpu/interpret/boxes.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cmm::tpu {
namespace {

// All boxes of a buffer of three dimensions.
std::vector<Box> boxes_of(const std::vector<std::int64_t>& shape) {
  std::vector<Box> boxes = {Box{.rank = 3, .begin = {}, .size = {}}};
  for (std::size_t dimension = 0; dimension < shape.size(); ++dimension) {
    std::vector<Box> more;
    for (const Box& box : boxes) {
      for (std::int64_t begin = 0; begin < shape[dimension]; ++begin) {
        for (std::int64_t end = begin + 1; end <= shape[dimension]; ++end) {
          more.push_back(box);
          more.back().begin[dimension] = begin;
          more.back().size[dimension] = end - begin;
        }
      }
    }
    boxes = std::move(more);
  }
  return boxes;
}

// The elements' numbers in the buffer, in the order of the box.
std::vector<std::int64_t> elements_of(const std::vector<std::int64_t>& shape, const Box& box) {
  std::vector<std::int64_t> elements;
  for (std::int64_t i = 0; i < box.size[0]; ++i) {
    for (std::int64_t j = 0; j < box.size[1]; ++j) {
      for (std::int64_t k = 0; k < box.size[2]; ++k) {
        elements.push_back(((box.begin[0] + i) * shape[1] + box.begin[1] + j) * shape[2] +
                           box.begin[2] + k);
      }
    }
  }
  return elements;
}

TEST(BoxRuns, GoThroughEveryPartOfEveryBox) {
  const std::vector<std::int64_t> shape = {2, 3, 4};
  for (const Box& box : boxes_of(shape)) {
    const BoxRuns runs(shape, box);
    const std::vector<std::int64_t> elements = elements_of(shape, box);
    const auto count = static_cast<std::int64_t>(elements.size());
    ASSERT_EQ(runs.num_elements(), count);
    for (std::int64_t begin = 0; begin < count; ++begin) {
      for (std::int64_t end = begin + 1; end <= count; ++end) {
        std::int64_t next = begin;
        runs.each_run(begin, end,
                      [&](std::int64_t in_box, std::int64_t in_buffer, std::int64_t num) {
                        ASSERT_EQ(in_box, next);
                        ASSERT_LE(in_box + num, end);
                        for (std::int64_t i = 0; i < num; ++i) {
                          ASSERT_EQ(in_buffer + i, elements[static_cast<std::size_t>(next++)]);
                        }
                      });
        ASSERT_EQ(next, end);
      }
    }
  }
}

TEST(BoxRuns, OfAWholeBufferAreOne) {
  const std::vector<std::int64_t> shape = {2, 3, 4};
  int num_runs = 0;
  BoxRuns(shape, {.rank = 3, .begin = {}, .size = {2, 3, 4}})
      .each_run(0, 24, [&](std::int64_t, std::int64_t, std::int64_t) { ++num_runs; });
  EXPECT_EQ(num_runs, 1);
}

TEST(Box, OverlapsAndCoversByItsElements) {
  const std::vector<std::int64_t> shape = {2, 2, 3};
  const std::vector<Box> boxes = boxes_of(shape);
  for (const Box& a : boxes) {
    const std::vector<std::int64_t> of_a = elements_of(shape, a);
    for (const Box& b : boxes) {
      std::size_t num_shared = 0;
      const std::vector<std::int64_t> of_b = elements_of(shape, b);
      for (const std::int64_t element : of_b) {
        num_shared += std::find(of_a.begin(), of_a.end(), element) != of_a.end() ? 1 : 0;
      }
      ASSERT_EQ(a.overlaps(b), num_shared > 0);
      ASSERT_EQ(a.covers(b), num_shared == of_b.size());
    }
  }
}

}  // namespace
}  // namespace cmm::tpu
