// The products of a library engine run on as many threads as they are given, whatever the same
// object multiplied before. tests/api/onednn_test.cpp has their numbers.
#include "gemm/library/library.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>
#include <vector>

namespace cmm::gemm {
namespace {

std::ptrdiff_t num_threads_of_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

TEST(LibraryProducts, RunOnAsManyThreadsAsGivenThoughTheShapeWasPreparedForFewer) {
  if (!LibraryMatrix::available()) GTEST_SKIP() << "this build has no library engine";
  if (!std::filesystem::exists("/proc/self/task")) GTEST_SKIP() << "no /proc/self/task";
  constexpr std::int64_t kExtent = 256;
  std::vector<float> x(kExtent * kExtent, 1), y(kExtent * kExtent, 1), out(kExtent * kExtent);
  // A thread of its own: OpenMP keeps a team for each thread that ever led one.
  std::thread([&] {
    const std::ptrdiff_t before = num_threads_of_process();
    const LibraryMatrix packed({y.data(), DType::kF32, kExtent, kExtent, kExtent, 1});
    LibraryProducts products;
    const auto multiply = [&](int num_threads) {
      products.multiply({.y = &packed,
                         .x = x.data(),
                         .rows = kExtent,
                         .out = out.data(),
                         .num_threads = num_threads});
    };
    multiply(1);
    EXPECT_EQ(num_threads_of_process(), before);
    multiply(2);
    EXPECT_EQ(num_threads_of_process(), before + 1);
  }).join();
}

}  // namespace
}  // namespace cmm::gemm
