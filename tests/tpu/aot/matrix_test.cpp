// Every kernel compiles for its chip on the newest libtpu, and on the oldest that is supported.
#include <gtest/gtest.h>

#include <fstream>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "sim/chips.hpp"
#include "tpu/aot/compile_matrix.hpp"
#include "tpu/aot/libtpu.hpp"
#include "tpu/support/simple_schedule.hpp"
#include "tpu/support/wavefront_case.hpp"

namespace cmm::tpu {
namespace {

using test::CompileCase;

void expect_compiles(const CompileCase& c, const std::string& version) {
  SCOPED_TRACE(c.name + " on libtpu " + version);
  aot::CompileOptions options = test::compile_options(version);
  options.wrapper = c.wrapper;
  options.body.form = c.form;
  try {
    const aot::Compiled compiled = aot::compile(c.kernel, c.chip, options);
    EXPECT_EQ(compiled.fingerprint.size(), 64u);
    EXPECT_GT(compiled.code_bytes, 10000);
    EXPECT_GT(compiled.executable.size(), 10000u);
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}

void expect_all_compile(const std::vector<CompileCase>& cases) {
  CMM_SKIP_WITHOUT_LIBTPU(test::kNewestLibtpu);
  for (const CompileCase& c : cases) expect_compiles(c, test::kNewestLibtpu);
}

// The oldest does not know 7x. Every third case, so that all chips and types are met.
void expect_some_compile_on_the_oldest(const std::vector<CompileCase>& cases) {
  CMM_SKIP_WITHOUT_LIBTPU(test::kOldestLibtpu);
  for (std::size_t i = 0; i < cases.size(); i += 3) {
    if (cases[i].chip.generation < 7) expect_compiles(cases[i], test::kOldestLibtpu);
  }
}

class Corners : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Libtpu, Corners,
                         testing::Values(test::kOldestLibtpu, test::kNewestLibtpu));

TEST(CompileMatrix, ReferenceOnTheNewest) { expect_all_compile(test::reference_cases()); }
TEST(CompileMatrix, ReferenceOnTheOldest) {
  expect_some_compile_on_the_oldest(test::reference_cases());
}
TEST(CompileMatrix, WavefrontOnTheNewest) { expect_all_compile(test::wavefront_cases()); }
TEST(CompileMatrix, WavefrontOnTheOldest) {
  expect_some_compile_on_the_oldest(test::wavefront_cases());
}

// What has made XLA fail around the kernel: one device, and fewer rows than a tile on each.
TEST_P(Corners, Compile) {
  CMM_SKIP_WITHOUT_LIBTPU(GetParam());
  const Chip& chip = sim::find_chip(sim::builtin_chips(),
                                    GetParam() == std::string(test::kOldestLibtpu) ? "v6e" : "7x");
  for (const int num_devices : {1, 4, 8}) {
    for (const std::int64_t m : {1, 9, 17}) {
      for (const emit::Wrapper wrapper : {emit::Wrapper::kSdy, emit::Wrapper::kGspmd}) {
        test::WavefrontCase c =
            test::small_case("",
                             test::options_of({.mesh = {num_devices}},
                                              {.m = m, .k = 200, .cols = {100}}, Element::kF32),
                             chip.generation);
        expect_compiles(
            {.name = cat("m", m, "_P", num_devices),
             .chip = chip,
             .kernel = wavefront_kernel(cmm::test::simple_schedule(c.shape), c.options, chip),
             .wrapper = wrapper},
            GetParam());
      }
    }
  }
}

// The oldest spills a transposed right operand of fp8, too: it needs room for that.
TEST(CompileMatrix, RoomForWhatTheOldestSpills) {
  CMM_SKIP_WITHOUT_LIBTPU(test::kOldestLibtpu);
  const Chip& chip = sim::find_chip(sim::builtin_chips(), "v5e");
  test::WavefrontCase c = test::small_case(
      "", test::options_of({.mesh = {1}}, {.m = 31, .k = 5000, .cols = {300}}, Element::kF8E4M3),
      chip.generation);
  c.options.rhs_transposed = true;
  c.shape.side_rows = c.shape.piece_rows = 32;
  c.shape.x_slots = 1;
  expect_compiles(
      {.name = "m31_k5000_transposed",
       .chip = chip,
       .kernel = wavefront_kernel(cmm::test::simple_schedule(c.shape), c.options, chip)},
      test::kOldestLibtpu);
}

}  // namespace
}  // namespace cmm::tpu
