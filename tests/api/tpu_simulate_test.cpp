// What simulate() says holds together, over chips, rings, extents and types.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "api/tpu_kernels.hpp"
#include "api/tpu_machine.hpp"
#include "cmm/tpu.hpp"
#include "sim/bound.hpp"
#include "support/text_of_error.hpp"

namespace cmm::tpu {
namespace {

Problem problem_of(int num_devices, std::int64_t m, std::int64_t k, std::int64_t cols) {
  Problem problem;
  problem.mesh = {num_devices};
  problem.m = m;
  problem.k = k;
  problem.n = {cols * num_devices};
  return problem;
}

void expect_sound(const Problem& problem, const Chip& chip, const Simulation& simulation) {
  const std::string where = chip.name + ", P=" + std::to_string(problem.num_devices()) +
                            " m=" + std::to_string(problem.m) + " k=" + std::to_string(problem.k);
  const Bound& bound = simulation.bound;
  EXPECT_EQ(bound.seconds, std::max({bound.mxu_seconds, bound.link_seconds, bound.hbm_seconds}));
  EXPECT_EQ(simulation.find(Schedule::kReference) == nullptr,
            !simulation.reference_refused.empty());
  ASSERT_NE(simulation.find(Schedule::kWavefront), nullptr);
  ASSERT_NE(simulation.find(Schedule::kSequential), nullptr);
  for (const KernelTimes& times : simulation.kernels) {
    EXPECT_GE(times.seconds, bound.seconds) << where;
    EXPECT_NEAR(times.seconds,
                times.mxu_seconds + times.control_seconds + times.idle_x_seconds +
                    times.idle_y_seconds + times.idle_out_seconds + times.idle_other_seconds +
                    times.tail_seconds,
                1e-12)
        << where;
    EXPECT_LE(times.exposed_seconds, times.seconds) << where;
    EXPECT_LE(times.vmem_bytes, chip.vmem_bytes) << where;
    EXPECT_GE(times.seconds, simulation.find(simulation.chosen)->seconds) << where;
  }
}

TEST(TpuSimulate, HoldsTogether) {
  for (const Chip& chip : chips()) {
    for (const int num_devices : {1, 2, 3, 8}) {
      for (const std::int64_t m : {16, 1000, 2048}) {
        const Problem problem = problem_of(num_devices, m, 2048, 1024);
        expect_sound(problem, chip, simulate(problem, chip));
      }
    }
  }
}

TEST(TpuSimulate, IsTheSameAgain) {
  const Problem problem = problem_of(8, 1024, 5120, 6400);
  const Simulation a = simulate(problem, chip("v6e")), b = simulate(problem, chip("v6e"));
  for (std::size_t i = 0; i < a.kernels.size(); ++i) {
    EXPECT_EQ(a.kernels[i].seconds, b.kernels[i].seconds);
    EXPECT_EQ(a.kernels[i].parameters, b.kernels[i].parameters);
  }
}

TEST(TpuSimulate, TakesTheScheduleThatIsNamed) {
  const Problem problem = problem_of(8, 1024, 5120, 6400);
  for (const Schedule schedule :
       {Schedule::kReference, Schedule::kWavefront, Schedule::kSequential}) {
    SimulateOptions options;
    options.kernel.schedule = schedule;
    EXPECT_EQ(simulate(problem, chip("v6e"), options).chosen, schedule);
  }
  SimulateOptions options;
  options.kernel.schedule = Schedule::kReference;
  EXPECT_NE(test::text_of_error([&] {
              simulate(problem_of(1, 1024, 5120, 6400), chip("v6e"), options);
            }).find("1 device"),
            std::string::npos);
}

TEST(TpuSimulate, TimesTheBlocksThatAreNamed) {
  const Problem problem = problem_of(8, 1024, 5120, 6400);
  SimulateOptions options;
  options.kernel.bn = 1280;
  options.kernel.bk = 5120;
  const Simulation simulation = simulate(problem, chip("v6e"), options);
  EXPECT_EQ(simulation.find(Schedule::kReference)->parameters, "bn=1280 bk=5120");
  options.kernel.bn = 1024;
  EXPECT_NE(simulate(problem, chip("v6e"), options).reference_refused.find("bn is 1024"),
            std::string::npos);
}

// Whatever the extents: what SMEM holds no table of is refused before it is scheduled.
TEST(TpuSimulate, RefusesMoreStepsThanAKernelCanHaveAtOnce) {
  constexpr std::int64_t kMany = std::int64_t{1} << 30;
  const auto refusal = [](int num_devices, std::int64_t m, std::int64_t k, std::int64_t cols) {
    return test::text_of_error([&] { simulate(problem_of(num_devices, m, k, cols), chip("v6e")); });
  };
  for (const int num_devices : {1, 8}) {
    for (const std::string& text :
         {refusal(num_devices, kMany, 128, 128), refusal(num_devices, kMaxExtent, 128, 128)}) {
      EXPECT_NE(text.find("steps, and SMEM holds a table of 32736 at most"), std::string::npos)
          << text;
      EXPECT_NE(text.find("fewer rows (m)"), std::string::npos) << text;
    }
    const std::string cubed = refusal(num_devices, kMany, kMany, kMany / num_devices);
    EXPECT_NE(cubed.find("steps, and SMEM holds a table of"), std::string::npos) << cubed;
    EXPECT_NE(refusal(num_devices, 128, kMany, 128), "");
    EXPECT_NE(refusal(num_devices, 128, 128, kMany / num_devices), "");
  }
}

TEST(TpuSimulate, NamesOptionsThatMakeNoSense) {
  const Problem problem = problem_of(2, 64, 128, 256);
  const auto refuses = [&](const auto& change, const std::string& words) {
    SimulateOptions options;
    change(options);
    const std::string text = test::text_of_error([&] { simulate(problem, chip("v6e"), options); });
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  refuses([](SimulateOptions& it) { it.kernel.bn = -1; }, "bn is -1; it must be above 0");
  refuses([](SimulateOptions& it) { it.kernel.bk = -128; }, "bk is -128; it must be above 0");
  refuses([](SimulateOptions& it) { it.copy_bytes_per_second = -1; }, "per_second is -1");
  refuses([](SimulateOptions& it) { it.copy_bytes_per_second = std::nan(""); }, "per_second is ");
  refuses([](SimulateOptions& it) { it.num_candidates = -1; }, "num_candidates is -1");
  TuneOptions tuning;
  tuning.num_candidates = -1;
  EXPECT_NE(
      test::text_of_error([&] { tune(problem, chip("v6e"), tuning); }).find("num_candidates is -1"),
      std::string::npos);
  EXPECT_NE(test::text_of_error([&] {
              verify(problem, chip("v6e"), {}, {.seed = 1, .num_interleavings = -1});
            }).find("num_interleavings is -1"),
            std::string::npos);
}

TEST(TpuSimulate, HasTheKernelThatIsVerified) {
  const Problem problem = problem_of(4, 256, 512, 1024);
  const Simulation simulation = simulate(problem, chip("v6e"));
  for (const Schedule schedule : {Schedule::kReference, Schedule::kWavefront}) {
    const KernelTimes& times = *simulation.find(schedule);
    KernelOptions options;
    options.schedule = schedule;
    const KernelDescription kernel = describe(problem, chip("v6e"), options);
    EXPECT_EQ(times.parameters, kernel.parameters);
    EXPECT_EQ(times.vmem_bytes, kernel.vmem_bytes);
    EXPECT_EQ(times.num_semaphores, kernel.num_semaphores);
    EXPECT_EQ(times.num_steps, kernel.num_steps);
  }
}

TEST(TpuSimulate, SharesTheColumnsOfADeviceBetweenItsCores) {
  const Problem problem = problem_of(8, 1024, 4096, 2048);
  Chip two = chip("v6e");
  two.cores_per_device = 2;
  EXPECT_NEAR(simulate(problem, two).bound.mxu_seconds,
              simulate(problem, chip("v6e")).bound.mxu_seconds / 2, 1e-12);
  EXPECT_EQ(describe(problem, two).flops, describe(problem, chip("v6e")).flops / 2);
}

// Sequential is the better of its two forms: y comes while x is gathered, or after it.
TEST(TpuSimulate, TimesTheBestSequentialSchedule) {
  int num_early = 0;
  for (const std::int64_t m : {64, 1024}) {
    const Problem problem = problem_of(8, m, 5120, 6400);
    const sim::TileProblem tiles =
        tile_problem(problem, chip("v6e"), ring_machine(problem, chip("v6e"), {}));
    const Simulation simulation = simulate(problem, chip("v6e"));
    const double best = sim::best_sequential(tiles).times.seconds;
    EXPECT_EQ(simulation.find(Schedule::kSequential)->seconds, best);
    num_early += best < sim::gather_then_multiply(tiles).times.seconds ? 1 : 0;
  }
  EXPECT_GT(num_early, 0);
}

TEST(TpuTune, StartsFromTheBestKnownPlan) {
  const Problem problem = problem_of(8, 1024, 5120, 6400);
  TuneOptions options;
  options.num_candidates = 1;
  const Tuned tuned = tune(problem, chip("v6e"), options);
  EXPECT_LT(tuned.seconds, tuned.planned_seconds);
  EXPECT_LE(tuned.seconds, simulate(problem, chip("v6e")).find(Schedule::kWavefront)->seconds);
}

TEST(TpuTune, IsNeverSlowerThanTheRule) {
  TuneOptions options;
  options.num_candidates = 30;
  for (const std::int64_t m : {64, 512, 2048}) {
    const Tuned tuned = tune(problem_of(4, m, 2048, 1024), chip("v6e"), options);
    EXPECT_LE(tuned.seconds, tuned.planned_seconds);
    EXPECT_GE(tuned.seconds, tuned.bound.seconds);
  }
}

// Zeros that pad a problem to whole tiles are no useful work: with half the rows, columns or k the
// bound is less, though the kernel is the same.
TEST(TpuBound, DoesNotCountPadding) {
  Problem whole;
  whole.mesh = {4};
  whole.m = 64;
  whole.k = 256;
  whole.n = {1024};
  Problem ragged = whole;
  ragged.m = 32;
  ragged.k = 192;
  ragged.n = {768};
  const Chip& v6e = chip("v6e");
  const Bound of_whole = simulate(whole, v6e).bound, of_ragged = simulate(ragged, v6e).bound;
  EXPECT_DOUBLE_EQ(of_ragged.mxu_seconds, of_whole.mxu_seconds * 0.5 * 0.75 * 0.75);
  EXPECT_DOUBLE_EQ(of_ragged.link_seconds, of_whole.link_seconds * 0.5 * 0.75);
}

}  // namespace
}  // namespace cmm::tpu
