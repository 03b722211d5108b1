// Kernels of both families for all chips, types and layouts, on rings of 2 to 16.
#pragma once

#include <string>
#include <vector>

#include "tpu/emit/custom_call.hpp"
#include "tpu/emit/stablehlo.hpp"
#include "tpu/kernels/kernel.hpp"

namespace cmm::tpu::test {

struct CompileCase {
  std::string name;  // "v6e_bf16_P4_transposed"
  Chip chip;
  Kernel kernel;
  emit::Wrapper wrapper = emit::Wrapper::kSdy;
  emit::BodyForm form = emit::BodyForm::kText;
};

std::vector<CompileCase> reference_cases();
// One of each home of x, form of body, right sides, credits and gathered x for each chip and type.
std::vector<CompileCase> wavefront_cases();

}  // namespace cmm::tpu::test
