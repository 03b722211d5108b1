// What verify() runs, what it says, and that its runs see more than one would.
#include "tpu/verify.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tpu/kernels/reference.hpp"
#include "tpu/mutants.hpp"
#include "tpu/support/chips.hpp"

namespace cmm::tpu {
namespace {

const Chip& chip() {
  static const Chip kChip = test::chip_of_generation(6);
  return kChip;
}

Kernel reference(int num_devices, int num_blocks = 1) {
  return reference_kernel({.ring = {{num_devices}, 0},
                           .m = 16 * num_devices,
                           .k = 128 * num_blocks,
                           .n = std::int64_t{128} * num_blocks * num_devices,
                           .element = Element::kBF16,
                           .bn = 128,
                           .bk = 128},
                          chip());
}

Kernel mutant_of(const Kernel& kernel, const std::string& words) {
  for (const Mutant& mutant : mutants(kernel, chip())) {
    if (mutant.name.find(words) != std::string::npos) return mutant.make();
  }
  throw std::runtime_error("no mutant: " + words);
}

TEST(Runs, TryEachModeEachLateDeviceAndTwoCalls) {
  const int num_devices = 4;
  const std::vector<RunOptions> runs = runs_of(reference(num_devices), {.num_interleavings = 16});
  std::set<std::pair<int, int>> late;  // device, calls
  std::set<CopyMode> modes, in_two_calls;
  std::set<std::uint64_t> seeds;
  for (const RunOptions& run : runs) {
    late.emplace(run.late_device, run.num_calls);
    if (run.late_device < 0) (run.num_calls == 1 ? modes : in_two_calls).insert(run.copies);
    EXPECT_TRUE(seeds.insert(run.seed).second);
    EXPECT_TRUE(run.check_races && run.check_tiles && run.arithmetic);
  }
  for (int device = -1; device < num_devices; ++device) {
    for (const int num_calls : {1, 2}) EXPECT_TRUE(late.contains({device, num_calls})) << device;
  }
  EXPECT_EQ(modes.size(), 3u);
  EXPECT_TRUE(in_two_calls.contains(CopyMode::kRandom));
  EXPECT_EQ(runs.size(), 3u + 2 * num_devices + 16);
}

TEST(Verdict, OfARightKernelCountsItsRuns) {
  const Kernel kernel = reference(3);
  const Verdict verdict = verify(kernel, chip(), {});
  EXPECT_FALSE(verdict.fault) << verdict.fault->text;
  EXPECT_EQ(verdict.num_runs, static_cast<int>(runs_of(kernel, {}).size()));
}

TEST(Verdict, IsAProofWhereThereIsOneOrder) {
  for (const int num_devices : {2, 3, 4}) {
    const Kernel kernel = reference(num_devices, 2);
    EXPECT_TRUE(verify(kernel, chip(), {}).proved);
    EXPECT_TRUE(verify(kernel, chip(), {.num_interleavings = 0}).proved);
    EXPECT_FALSE(verify(kernel, chip(), {.check_races = false}).proved);
  }
  EXPECT_FALSE(verify(mutant_of(reference(4), "amount + 1"), chip(), {}).proved);
}

TEST(Verdict, OfAKernelWithoutEndIsThatItHasNone) {
  Kernel kernel = reference(3);
  const auto most = run(kernel.program, chip(), Expectation(kernel, 1).inputs(kernel), {});
  EXPECT_FALSE(verify(kernel, chip(), {.max_steps = most.num_statements}).fault);
  Builder builder("");
  builder.program() = std::move(kernel.program);
  builder.loop(builder.constant(0), builder.constant(1 << 30),
               [&](Scalar) { builder.debug_print("again", {}); });
  kernel.program = builder.finish();
  const Verdict verdict = verify(kernel, chip(), {.max_steps = 20 * most.num_statements});
  ASSERT_TRUE(verdict.fault);
  EXPECT_EQ(verdict.fault->kind, Fault::Kind::kNoEnd) << verdict.fault->text;
  EXPECT_EQ(fault_name(verdict.fault->kind), "no end");
}

TEST(Verdict, OfAProgramThatCannotBeRightNeedsNoRun) {
  Kernel kernel = reference(2);
  kernel.program.collective_id.reset();
  const Verdict verdict = verify(kernel, chip(), {});
  ASSERT_TRUE(verdict.fault);
  EXPECT_EQ(verdict.fault->kind, Fault::Kind::kInvalid);
  EXPECT_EQ(verdict.num_runs, 0);
}

TEST(Verdict, SaysHowToSeeItsFaultAgain) {
  const Kernel kernel = reference(4);
  const Expectation expectation(kernel, 1);
  for (const char* words : {"await arrivals[1, grid[0]] (wait_first_remote_copy)",
                            "every copy and signal to the other neighbour", "amount + 1"}) {
    const Kernel wrong = mutant_of(kernel, words);
    const Verdict verdict = verify(wrong, chip(), {}, expectation);
    ASSERT_TRUE(verdict.fault) << words;
    RunResult again = run(wrong.program, chip(), expectation.inputs(wrong), verdict.options);
    if (!again.fault) again.fault = expectation.compare(wrong, again.outputs);
    ASSERT_TRUE(again.fault) << words;
    EXPECT_EQ(again.fault->text, verdict.fault->text);
    EXPECT_EQ(again.fault->kind, verdict.fault->kind);
  }
}

TEST(Verdict, SaysARunInWords) {
  EXPECT_EQ(run_text({.seed = 17, .late_device = 2, .num_calls = 2}),
            "copies in random pieces, device 2 late, 2 calls, seed 17");
  EXPECT_EQ(run_text({.seed = 1, .copies = CopyMode::kEager}), "copies at once, seed 1");
}

// Where nobody looks for what could happen, something must: these two faults do no harm while
// copies are made at once, one of them only where copies progress at random.
TEST(Runs, MakeFaultsHappenThatAreNotLookedFor) {
  const Kernel kernel = reference(4, 2);
  const Expectation expectation(kernel, 1);
  const auto first_mode = [&](const char* words, bool check_races) {
    const Kernel wrong = mutant_of(kernel, words);
    const Verdict verdict = verify(wrong, chip(), {.check_races = check_races}, expectation);
    EXPECT_TRUE(verdict.fault) << words;
    return verdict.options.copies;
  };
  const char* overwritten = "received x as if it were 2 long";
  const char* stored_late = "out slots as if it were 1 long";
  EXPECT_EQ(first_mode(overwritten, false), CopyMode::kRandom);
  EXPECT_EQ(first_mode(stored_late, false), CopyMode::kAtAwait);
  for (const char* words : {overwritten, stored_late}) {
    EXPECT_EQ(first_mode(words, true), CopyMode::kEager) << words;
  }
}

}  // namespace
}  // namespace cmm::tpu
