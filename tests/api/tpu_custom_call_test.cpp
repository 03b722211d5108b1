// What a program needs to call a kernel from a module of its own: as the module that is emitted
// beside it has it.
#include <gtest/gtest.h>

#include <utility>

#include "base/text.hpp"
#include "cmm/tpu.hpp"

namespace cmm::tpu {
namespace {

// "tensor<128x512xbf16>"
std::string type_text(const Tensor& tensor) {
  const char* const element = tensor.element == Element::kF32    ? "f32"
                              : tensor.element == Element::kBF16 ? "bf16"
                              : tensor.element == Element::kS8   ? "i8"
                                                                 : "i32";
  std::string text = "tensor<";
  for (const std::int64_t extent : tensor.shape) text += cat(extent, "x");
  return text + element + ">";
}

// The module's own call takes and gives just these.
void expect_call_of_module(const Problem& problem, const KernelOptions& options) {
  const CustomCall call = custom_call(problem, chip("v6e"), options);
  const Emitted emitted = emit_kernel(problem, chip("v6e"), options);
  EXPECT_EQ(call.name, emitted.name);
  EXPECT_EQ(call.config, emitted.config);
  std::string takes =
      call.table.empty() ? std::string() : cat("tensor<", call.table.size(), "xi32>, ");
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    takes += cat(i == 0 ? "" : ", ", type_text(call.operands[i]));
  }
  std::string gives;
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    gives += cat(i == 0 ? "" : ", ", type_text(call.results[i]));
  }
  if (call.results.size() > 1) gives = cat("(", gives, ")");
  EXPECT_NE(emitted.module.find(cat("(", takes, ") -> ", gives, "\n")), std::string::npos)
      << takes << " -> " << gives;
}

Problem problem_of(std::vector<int> mesh, std::int64_t m, std::vector<std::int64_t> n) {
  Problem problem;
  problem.mesh = std::move(mesh);
  problem.m = m;
  problem.k = 300;
  problem.n = std::move(n);
  return problem;
}

TEST(TpuCustomCall, TakesAndGivesWhatTheModuleDoes) {
  Problem problem = problem_of({4}, 100, {400, 800});
  expect_call_of_module(problem, {});
  EXPECT_EQ(custom_call(problem, chip("v6e")).operands.size(), 3U);
  problem.gathered = problem.rhs_transposed = true;
  expect_call_of_module(problem, {});
  problem = problem_of({2, 4}, 64, {512});
  problem.axis = 1;
  problem.element = Element::kS8;
  expect_call_of_module(problem, {});
  EXPECT_FALSE(custom_call(problem, chip("v6e")).table.empty());
}

TEST(TpuCustomCall, OfTheReferenceKernelHasItsScratchAmongTheResults) {
  Problem problem = problem_of({4}, 64, {512});
  problem.k = 256;
  KernelOptions options;
  options.schedule = Schedule::kReference;
  expect_call_of_module(problem, options);
  const CustomCall call = custom_call(problem, chip("v6e"), options);
  EXPECT_EQ(call.results.size(), 2U);
  EXPECT_TRUE(call.table.empty());
}

}  // namespace
}  // namespace cmm::tpu
