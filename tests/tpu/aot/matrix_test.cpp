// Every kernel compiles for its chip on the newest libtpu, and on the oldest that is supported.
#include <gtest/gtest.h>

#include <fstream>

#include "cmm/error.hpp"
#include "tpu/aot/compile_matrix.hpp"
#include "tpu/aot/libtpu.hpp"

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

TEST(CompileMatrix, ReferenceOnTheNewest) { expect_all_compile(test::reference_cases()); }
TEST(CompileMatrix, ReferenceOnTheOldest) {
  expect_some_compile_on_the_oldest(test::reference_cases());
}
TEST(CompileMatrix, WavefrontOnTheNewest) { expect_all_compile(test::wavefront_cases()); }
TEST(CompileMatrix, WavefrontOnTheOldest) {
  expect_some_compile_on_the_oldest(test::wavefront_cases());
}

}  // namespace
}  // namespace cmm::tpu
