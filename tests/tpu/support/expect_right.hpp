// A kernel must yield the right results, in every bit, in every interleaving that verify() tries.
#pragma once

#include <gtest/gtest.h>

#include "tpu/interpret/fault.hpp"
#include "tpu/verify.hpp"

namespace cmm::tpu::test {

inline void expect_right(const Kernel& kernel, const Chip& chip, const VerifyOptions& options) {
  const Verdict verdict = verify(kernel, chip, options);
  EXPECT_FALSE(verdict.fault) << fault_name(verdict.fault->kind) << ": " << verdict.fault->text
                              << " (" << run_text(verdict.options) << ")";
}

}  // namespace cmm::tpu::test
