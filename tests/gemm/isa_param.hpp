// Tests that run once per instruction set; sets the machine lacks are skipped by name.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "cmm/dtype.hpp"
#include "cmm/epilogue.hpp"
#include "cmm/isa.hpp"

namespace cmm::test {

inline constexpr Isa kIsas[] = {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16};
inline constexpr DType kDTypes[] = {DType::kF32, DType::kBF16, DType::kF16};
inline constexpr Activation kActivations[] = {Activation::kNone, Activation::kRelu,
                                              Activation::kGeluTanh, Activation::kGeluErf,
                                              Activation::kSilu};

class IsaTest : public testing::TestWithParam<Isa> {
 protected:
  Isa isa() const { return GetParam(); }
  void SetUp() override {
    if (!isa_supported(isa())) GTEST_SKIP() << isa_name(isa()) << " cannot run here";
  }
};

inline std::string isa_test_name(const testing::TestParamInfo<Isa>& info) {
  return std::string(isa_name(info.param));
}

#define INSTANTIATE_ISA_TESTS(suite) \
  INSTANTIATE_TEST_SUITE_P(Isa, suite, testing::ValuesIn(kIsas), isa_test_name)

}  // namespace cmm::test
