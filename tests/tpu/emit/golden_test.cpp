// The texts of small kernels, byte for byte: what is emitted changes only where somebody wants it
// to. After such a change, look at what `git diff` shows of this:
//   CMM_WRITE_GOLDEN=1 build/release/tests/tpu/emit/tpu_emit_test --gtest_filter='Golden.*'
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tpu/emit/custom_call.hpp"
#include "tpu/emit/small_kernels.hpp"
#include "tpu/emit/stablehlo.hpp"

namespace cmm::tpu::emit {
namespace {

// The body as it is, and the module around it with the body left out.
std::string golden_text(const test::SmallKernel& small) {
  const CustomCall call = custom_call(small.kernel.program, small.chip, {});
  std::string config = call.config;
  const std::string body = base64(call.body.text);
  const std::size_t at = config.find(body);
  EXPECT_NE(at, std::string::npos);
  config.replace(at, body.size(), "BODY");
  return call.body.text + stablehlo_module(small.kernel, config, {});
}

TEST(Golden, SmallKernelsAreEmittedAsTheyWere) {
  for (const test::SmallKernel& small : test::small_kernels()) {
    SCOPED_TRACE(small.name);
    const std::string path = std::string(CMM_GOLDEN_DIRECTORY) + "/" + small.name + ".mlir";
    const std::string text = golden_text(small);
    if (std::getenv("CMM_WRITE_GOLDEN") != nullptr) {
      std::ofstream(path, std::ios::binary) << text;
      continue;
    }
    std::ifstream file(path, std::ios::binary);
    ASSERT_TRUE(file) << path << " is missing; the first lines of this test say how it is written";
    std::stringstream golden;
    golden << file.rdbuf();
    EXPECT_TRUE(golden.str() == text) << path << " differs from what is emitted; the first lines "
                                      << "of this test say how it is written again";
  }
}

}  // namespace
}  // namespace cmm::tpu::emit
