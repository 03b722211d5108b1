// The epilogue's functions: how exact they are, what they do at the limits, equal bits everywhere.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "cmm/error.hpp"
#include "gemm/isa_param.hpp"
#include "gemm/kernels.hpp"
#include "support/oracle.hpp"

namespace cmm::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// activation(sums) by the table's store, as f32.
std::vector<float> activate(Isa isa, Activation activation, std::span<const float> sums) {
  constexpr int kColumns = 256;
  std::vector<float> acc(sums.begin(), sums.end());
  acc.resize((acc.size() + kColumns - 1) / kColumns * kColumns);
  std::vector<float> out(acc.size());
  gemm::StoreArgs args;
  args.acc = acc.data();
  args.acc_stride = kColumns;
  args.rows = static_cast<int>(acc.size()) / kColumns;
  args.cols = kColumns;
  args.activation = activation;
  args.out = out.data();
  args.out_stride = kColumns;
  gemm::kernels(isa).store(args);
  out.resize(sums.size());
  return out;
}

// Every f32 whose low `skipped_bits` bits are a fixed pattern: all signs and exponents, NaN too.
std::vector<float> dense_floats(int skipped_bits) {
  std::vector<float> values;
  const std::uint32_t count = 1u << (32 - skipped_bits);
  for (std::uint32_t i = 0; i < count; ++i) {
    values.push_back(std::bit_cast<float>((i << skipped_bits) | (0x5a5au >> (16 - skipped_bits))));
  }
  return values;
}

double exact(Activation activation, double x) {
  switch (activation) {
    case Activation::kGeluTanh: {
      // x (1 + tanh u) / 2 without the cancellation of 1 + tanh u.
      const double u = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
      return x / (1 + std::exp(-2 * u));
    }
    case Activation::kGeluErf:
      return x * std::erfc(-x / std::sqrt(2.0)) / 2;
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kRelu:
      return std::fmax(x, 0.0);
    case Activation::kNone:
      break;
  }
  return x;
}

double ulp(double value) {
  const int exponent = std::max(std::ilogb(value), -126);
  return std::ldexp(1.0, exponent - 23);
}

struct Accuracy {
  Activation activation;
  double max_ulp;       // where the exact result is not below the limit
  double absolute_low;  // allowed error where x is below `low`, whose result is -0
  float low;
};

class Activations : public IsaTest {};

TEST_P(Activations, AreAsExactAsDocumented) {
  for (const Accuracy& accuracy : {Accuracy{Activation::kSilu, 3.0, 1.5e-36, -87.0f},
                                   Accuracy{Activation::kGeluTanh, 3.0, 1.3e-36, -9.9f},
                                   Accuracy{Activation::kGeluErf, 5.0, 4.8e-35, -12.5f}}) {
    double worst = 0;
    float worst_at = 0;
    const std::vector<float> inputs = dense_floats(isa() == Isa::kPortable ? 13 : 10);
    const std::vector<float> outputs = activate(isa(), accuracy.activation, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const float x = inputs[i];
      if (!std::isfinite(x)) continue;
      if (x < accuracy.low) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(outputs[i]), 0x80000000u) << x;
        ASSERT_LT(-exact(accuracy.activation, x), accuracy.absolute_low) << x;
        continue;
      }
      const double want = exact(accuracy.activation, x);
      const double error = std::fabs(outputs[i] - want) / ulp(want);
      if (!(error <= worst)) {
        worst = error;
        worst_at = x;
      }
    }
    RecordProperty(std::string(activation_name(accuracy.activation)) + "_max_ulp",
                   std::to_string(worst));
    EXPECT_LE(worst, accuracy.max_ulp)
        << activation_name(accuracy.activation) << " at " << worst_at;
  }
}

TEST_P(Activations, HaveTheBitsOfTheDefinition) {
  std::vector<float> inputs = dense_floats(isa() == Isa::kPortable ? 14 : 12);
  // Around the places where a rounding, a select or a scale changes.
  for (float edge : {-87.0f, -9.9f, -12.5f, 6.0f, 20.0f, 0.0f, 1.0f, -1.0f, 0.34657359f}) {
    for (float below = edge, above = edge; below > edge - 1e-4f * std::fabs(edge) - 1e-40f;) {
      inputs.push_back(below = std::nextafter(below, -kInf));
      inputs.push_back(above = std::nextafter(above, kInf));
    }
  }
  for (Activation activation : kActivations) {
    const std::vector<float> outputs = activate(isa(), activation, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(outputs[i]),
                output_bits(DType::kF32, oracle_activation(activation, inputs[i])))
          << activation_name(activation) << " of " << inputs[i];
    }
  }
}

TEST_P(Activations, AtTheLimits) {
  const std::vector<float> inputs = {kInf,  -kInf,   kNaN,     -kNaN, 0.0f,
                                     -0.0f, 3.4e38f, -3.4e38f, 1e-40f};
  for (Activation activation : kActivations) {
    const std::vector<float> got = activate(isa(), activation, inputs);
    SCOPED_TRACE(activation_name(activation));
    EXPECT_EQ(got[0], kInf);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(got[2]), kCanonicalNanF32);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(got[3]), kCanonicalNanF32);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(got[4]), 0u);
    EXPECT_EQ(got[5], 0.0f);
    EXPECT_EQ(got[6], 3.4e38f);
    if (activation == Activation::kNone) continue;
    EXPECT_EQ(got[1], 0.0f);
    EXPECT_EQ(got[7], 0.0f);
    EXPECT_EQ(std::signbit(got[1]), activation != Activation::kRelu);
  }
}

// From its minimum on an activation must not fall: rounding may not make it step back by more than
// its error. From 6 or 20 on it is the identity.
TEST_P(Activations, RiseAboveTheirMinimum) {
  for (Activation activation :
       {Activation::kGeluTanh, Activation::kGeluErf, Activation::kSilu, Activation::kRelu}) {
    std::vector<float> inputs;
    for (int i = 0; i < 40000; ++i) inputs.push_back(static_cast<float>(i) * 0.00075f);
    const std::vector<float> got = activate(isa(), activation, inputs);
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      ASSERT_GT(got[i], got[i - 1]) << activation_name(activation) << " at " << inputs[i];
      const float identity_above = activation == Activation::kSilu ? 20.0f : 6.0f;
      ASSERT_TRUE(inputs[i] <= identity_above || got[i] == inputs[i]) << inputs[i];
    }
  }
}

TEST(ActivationNames, AreReadBack) {
  for (Activation activation : kActivations) {
    EXPECT_EQ(parse_activation(activation_name(activation)), activation);
  }
  try {
    parse_activation("gelu");
    FAIL() << "gelu is ambiguous";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("gelu_tanh, gelu_erf"), std::string::npos);
  }
}

INSTANTIATE_ISA_TESTS(Activations);

}  // namespace
}  // namespace cmm::test
