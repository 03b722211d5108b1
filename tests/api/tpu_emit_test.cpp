// Emission takes milliseconds, whatever the kernel: of processor time, so that other programs of
// the machine do not matter.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cmm/tpu.hpp"

namespace cmm::tpu {
namespace {

struct Case {
  const char* chip;
  Schedule schedule;
  int num_devices;
  std::int64_t m, k, n;
};

double median_seconds(const Case& c) {
  Problem problem;
  problem.mesh = {c.num_devices};
  problem.m = c.m;
  problem.k = c.k;
  problem.n = {c.n};
  KernelOptions kernel;
  kernel.schedule = c.schedule;
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) {
    seconds.push_back(emit_kernel(problem, chip(c.chip), kernel).seconds);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[2];
}

// The last has about the largest table that SMEM holds.
TEST(TpuEmit, TakesMilliseconds) {
#ifndef NDEBUG
  GTEST_SKIP() << "this build is not optimized";
#endif
  for (const Case& c : {Case{"v6e", Schedule::kReference, 8, 8192, 5120, 51200},
                        Case{"v6e", Schedule::kWavefront, 8, 1024, 5120, 51200},
                        Case{"v4", Schedule::kWavefront, 4, 4096, 28672, 8192}}) {
    SCOPED_TRACE(testing::Message() << c.chip << " m " << c.m << " k " << c.k << " n " << c.n);
    EXPECT_LT(median_seconds(c), 0.01);
  }
}

}  // namespace
}  // namespace cmm::tpu
