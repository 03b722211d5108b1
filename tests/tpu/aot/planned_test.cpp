// The kernels that the planner makes, in the compiler's own schedule: how busy the MXU is, what the
// model says of them, and the search that asks the compiler.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "cmm/error.hpp"
#include "cmm/tpu_compile.hpp"
#include "tpu/aot/libtpu.hpp"

namespace cmm::tpu {
namespace {

using test::kNewestLibtpu;

const Chip& chip(std::string_view name) {
  for (const Chip& each : chips()) {
    if (each.name == name) return each;
  }
  throw Error(ErrorCode::kInvalidArgument, "no such chip");
}

CompileOptions with_report() {
  setenv("CMM_TPU_COMPILER", CMM_WORKER, 1);
  CompileOptions options;
  options.libtpu = test::libtpu(kNewestLibtpu);
  options.timeout_seconds = 300;
  options.report = true;
  return options;
}

struct Aim {
  const char* chip;
  std::int64_t m;
  double mxu_busy;  // of the hot step, control included
};

TEST(PlannedKernels, KeepTheMxuBusy) {
  CMM_SKIP_WITHOUT_LIBTPU(kNewestLibtpu);
  for (const Aim& aim : {Aim{"v5e", 1024, 0.95}, Aim{"v6e", 1024, 0.90}, Aim{"7x", 1024, 0.90}}) {
    SCOPED_TRACE(aim.chip);
    Problem problem;
    problem.mesh = {8};
    problem.m = aim.m;
    problem.k = 5120;
    problem.n = {51200};
    const Compilation compiled = compile_kernel(problem, chip(aim.chip), {}, with_report());
    const CompileReport& report = compiled.report;
    EXPECT_GE(report.mxu_busy, aim.mxu_busy);
    EXPECT_EQ(report.num_operands_moved, 0);
    // What is spilled lies above the buffers. The compiler leaves out those of bodies that no step
    // has.
    EXPECT_NEAR(static_cast<double>(report.vmem_bytes - report.spill_bytes),
                static_cast<double>(compiled.kernel.vmem_bytes),
                0.02 * static_cast<double>(compiled.kernel.vmem_bytes));
    EXPECT_LE(report.vmem_bytes, compiled.scoped_vmem_bytes);
    for (const ScheduleBlock& block : report.blocks) {
      if (block.num_products == 0) continue;
      EXPECT_GE(block.body, 0);
      EXPECT_NEAR(block.model_cycles, static_cast<double>(block.cycles),
                  0.03 * static_cast<double>(block.cycles))
          << "body " << block.body;
    }
  }
}

Problem small_problem() {
  Problem problem;
  problem.mesh = {4};
  problem.m = 512;
  problem.k = 1024;
  problem.n = {8192};
  return problem;
}

TEST(VerifiedTuning, ChoosesByTheCyclesOfTheCompiler) {
  CMM_SKIP_WITHOUT_LIBTPU(kNewestLibtpu);
  TuneOptions options;
  options.num_candidates = 200;
  const VerifiedTuning verified =
      tune_verified(small_problem(), chip("v6e"), 2, options, with_report());
  ASSERT_EQ(verified.candidates.size(), 2u);
  EXPECT_EQ(verified.candidates[0].parameters,
            tune(small_problem(), chip("v6e"), options).parameters);
  double best = INFINITY;
  for (const VerifiedCandidate& candidate : verified.candidates) {
    EXPECT_EQ(candidate.refused, "");
    EXPECT_GT(candidate.report.product_cycles, 0);
    EXPECT_GE(candidate.model_seconds, verified.candidates[0].model_seconds);
    // The model is near, and not the same.
    EXPECT_NEAR(candidate.seconds, candidate.model_seconds, 0.1 * candidate.model_seconds);
    EXPECT_NE(candidate.seconds, candidate.model_seconds);
    best = std::min(best, candidate.seconds);
  }
  EXPECT_EQ(verified.tuned.seconds, best);
}

TEST(VerifiedTuning, SaysWhyWhereNoCandidateCompiles) {
  CMM_SKIP_WITHOUT_LIBTPU(kNewestLibtpu);
  TuneOptions options;
  options.num_candidates = 20;
  CompileOptions hasty = with_report();
  hasty.timeout_seconds = 0.001;
  try {
    tune_verified(small_problem(), chip("v6e"), 2, options, hasty);
    FAIL() << "took a candidate that was not compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDeadline) << error.what();
  }
}

TEST(VerifiedTuning, NeedsLibtpu) {
  CompileOptions options;
  options.libtpu = "/nowhere";
  try {
    tune_verified(small_problem(), chip("v6e"), 2, {}, options);
    FAIL() << "took a libtpu that is not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << error.what();
    EXPECT_NE(std::string(error.what()).find("/nowhere"), std::string::npos);
  }
  EXPECT_THROW(tune_verified(small_problem(), chip("v6e"), 0, {}, options), Error);
}

}  // namespace
}  // namespace cmm::tpu
