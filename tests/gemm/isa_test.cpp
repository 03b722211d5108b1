// Names, support and choice of instruction sets.
#include "cmm/isa.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "cmm/error.hpp"
#include "gemm/isa_param.hpp"
#include "gemm/kernels.hpp"

namespace cmm::test {
namespace {

// Sets CMM_ISA for one test and puts back what was there.
class IsaVariable : public testing::Test {
 protected:
  IsaVariable() {
    if (const char* value = std::getenv("CMM_ISA")) before_ = value;
    unsetenv("CMM_ISA");
  }
  ~IsaVariable() override {
    if (before_) {
      setenv("CMM_ISA", before_->c_str(), 1);
    } else {
      unsetenv("CMM_ISA");
    }
  }

 private:
  std::optional<std::string> before_;
};

ErrorCode code_of_default() {
  try {
    default_isa();
  } catch (const Error& error) {
    return error.code();
  }
  throw std::logic_error("default_isa did not throw");
}

TEST_F(IsaVariable, UnsetMeansTheFastestSupported) {
  const Isa isa = default_isa();
  EXPECT_TRUE(isa_supported(isa));
  for (Isa faster : kIsas) {
    EXPECT_TRUE(faster <= isa || !isa_supported(faster)) << isa_name(faster);
  }
  setenv("CMM_ISA", "", 1);
  EXPECT_EQ(default_isa(), isa);
}

TEST_F(IsaVariable, ForcesOrFails) {
  for (Isa isa : kIsas) {
    setenv("CMM_ISA", std::string(isa_name(isa)).c_str(), 1);
    if (isa_supported(isa)) {
      EXPECT_EQ(default_isa(), isa);
    } else {
      EXPECT_EQ(code_of_default(), ErrorCode::kUnsupported);
    }
  }
  setenv("CMM_ISA", "sse9", 1);
  EXPECT_EQ(code_of_default(), ErrorCode::kInvalidArgument);
}

TEST(IsaNames, AreReadBack) {
  for (Isa isa : kIsas) EXPECT_EQ(parse_isa(isa_name(isa)), isa);
  for (const char* wrong : {"", "AVX2", "avx", "avx512 "}) {
    EXPECT_THROW(parse_isa(wrong), Error) << wrong;
  }
}

TEST(IsaTables, ExistExactlyWhereSupported) {
  EXPECT_TRUE(isa_supported(Isa::kPortable));
  for (Isa isa : kIsas) {
    if (!isa_supported(isa)) {
      EXPECT_THROW(gemm::kernels(isa), Error);
      continue;
    }
    const gemm::Kernels& kernels = gemm::kernels(isa);
    EXPECT_EQ(kernels.isa, isa);
    EXPECT_NE(kernels.store, nullptr);
    for (DType dtype : kDTypes) {
      const gemm::TypeKernels& type = kernels.type(dtype);
      const bool native_bf16 = isa == Isa::kAvx512Bf16 && dtype == DType::kBF16;
      EXPECT_EQ(type.bf16_pairs, native_bf16);
      EXPECT_EQ(type.widen == nullptr, native_bf16 || dtype == DType::kF32);
      for (int rows = 1; rows <= gemm::kTileRows; ++rows) EXPECT_NE(type.tile[rows], nullptr);
      EXPECT_NE(type.pack_rows, nullptr);
      EXPECT_NE(type.decode, nullptr);
      EXPECT_GE(type.max_decode_rows, 1);
    }
  }
}

}  // namespace
}  // namespace cmm::test
