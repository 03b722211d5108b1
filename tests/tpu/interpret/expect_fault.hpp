// Runs that are expected to find a fault.
#pragma once

#include "tpu/interpret/ring_programs.hpp"

namespace cmm::tpu {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The first fault over many seeds, or the last result.
inline RunResult run_seeds(const Program& program, RunOptions options, int num_seeds = 200) {
  const auto inputs = numbered_inputs(program);
  RunResult result;
  for (int i = 0; i < num_seeds && !result.fault; ++i) {
    options.seed = static_cast<std::uint64_t>(i);
    result = run(program, v6e(), inputs, options);
  }
  return result;
}

inline void expect_fault(const RunResult& result, Fault::Kind kind, const std::string& text) {
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->kind, kind) << fault_text(result);
  EXPECT_PRED2(contains, result.fault->text, text);
}

}  // namespace cmm::tpu
