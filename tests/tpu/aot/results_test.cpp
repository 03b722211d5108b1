// What a compile yields does not depend on how it was asked for.
#include <gtest/gtest.h>

#include "cmm/error.hpp"
#include "sim/chips.hpp"
#include "tpu/aot/libtpu.hpp"
#include "tpu/emit/small_kernels.hpp"
#include "tpu/kernels/reference.hpp"

namespace cmm::tpu {
namespace {

using test::kNewestLibtpu;
using test::kOldestLibtpu;

const Chip& v6e() { return sim::find_chip(sim::builtin_chips(), "v6e"); }

Kernel reference() {
  return reference_kernel({.ring = {.mesh = {4}},
                           .m = 256,
                           .k = 256,
                           .n = 1024,
                           .element = Element::kBF16,
                           .bn = 256,
                           .bk = 128},
                          v6e());
}

class Results : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Libtpu, Results, testing::Values(kOldestLibtpu, kNewestLibtpu));

TEST_P(Results, AreTheSameEveryTime) {
  CMM_SKIP_WITHOUT_LIBTPU(GetParam());
  const aot::CompileOptions options = test::compile_options(GetParam());
  const aot::Compiled first = aot::compile(reference(), v6e(), options);
  const aot::Compiled second = aot::compile(reference(), v6e(), options);
  EXPECT_EQ(first.fingerprint, second.fingerprint);
  EXPECT_EQ(first.code_bytes, second.code_bytes);
  EXPECT_EQ(first.topology, "v6e:2x2");
  EXPECT_EQ(first.assignment, (std::vector<int>{0, 1, 3, 2}));
  EXPECT_EQ(first.longest_hop, 1);
  EXPECT_EQ(first.argument_bytes, (64 * 256 + 256 * 256) * 2);
  EXPECT_EQ(first.output_bytes, 256 * 256 * 2);
}

// The code of a body as bytecode is that of the same body as text, of every version.
TEST_P(Results, DoNotDependOnTheFormOfTheBody) {
  CMM_SKIP_WITHOUT_LIBTPU(GetParam());
  for (const test::SmallKernel& small : test::small_kernels()) {
    SCOPED_TRACE(small.name);
    aot::CompileOptions options = test::compile_options(GetParam());
    const aot::Compiled text = aot::compile(small.kernel, v6e(), options);
    options.body.form = emit::BodyForm::kBytecode;
    EXPECT_EQ(aot::compile(small.kernel, v6e(), options).code_bytes, text.code_bytes);
    options.body = {.version = 7};
    EXPECT_EQ(aot::compile(small.kernel, v6e(), options).code_bytes, text.code_bytes);
  }
}

TEST(NewestResults, DoNotDependOnTheVersionOfTheBody) {
  CMM_SKIP_WITHOUT_LIBTPU(kNewestLibtpu);
  aot::CompileOptions options = test::compile_options(kNewestLibtpu);
  const std::int64_t bytes = aot::compile(reference(), v6e(), options).code_bytes;
  for (int version = emit::kOldestVersion; version <= emit::kNewestVersion; ++version) {
    options.body.version = version;
    EXPECT_EQ(aot::compile(reference(), v6e(), options).code_bytes, bytes) << version;
  }
}

// Two calls of one kernel in one module, the second with what the first gives.
TEST_P(Results, TwoCallsInOneModule) {
  CMM_SKIP_WITHOUT_LIBTPU(GetParam());
  const Kernel kernel = reference_kernel({.ring = {.mesh = {2}},
                                          .m = 256,
                                          .k = 128,
                                          .n = 256,
                                          .element = Element::kBF16,
                                          .bn = 128,
                                          .bk = 128},
                                         v6e());
  const emit::CustomCall call = emit::custom_call(kernel.program, v6e(), {});
  std::string module =
      emit::stablehlo_module(kernel, call.config, {.wrapper = emit::Wrapper::kReplica});
  // out [256, 128] of a device has the rows of all: each device takes its half of them as x.
  const std::string call_line = module.substr(module.find("    %0:2 = "),
                                              module.find("    return") - module.find("    %0:2"));
  std::string second = call_line;
  second.replace(second.find("%0:2"), 4, "%2:2");
  second.replace(second.find("(%x, %y)"), 8, "(%1, %y)");
  const std::string between =
      "    %1 = stablehlo.slice %0#0 [0:128, 0:128] : (tensor<256x128xbf16>) -> "
      "tensor<128x128xbf16>\n";
  module.insert(module.find("    return"), between + second);
  module.replace(module.find("return %0#0"), 11, "return %2#0");
  aot::CompileOptions options = test::compile_options(GetParam());
  options.wrapper = emit::Wrapper::kReplica;
  const aot::Compiled twice = aot::compile_module(module, call.body, kernel, v6e(), options);
  const aot::Compiled once = aot::compile(kernel, v6e(), options);
  EXPECT_GT(twice.code_bytes, once.code_bytes);
}

}  // namespace
}  // namespace cmm::tpu
