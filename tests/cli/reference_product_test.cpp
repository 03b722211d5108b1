// The product outputs are compared with: against the definition written out element by element,
// and whether it finds what is wrong.
#include "reference_product.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "cmm/cmm.hpp"

namespace cmm::cli {
namespace {

struct Operands {
  std::int64_t m, k, n;
  std::vector<float> x;  // [m, k]
  std::vector<float> y;  // [k, n]

  float x_at(std::int64_t i, std::int64_t kk) const {
    return x[static_cast<std::size_t>(i * k + kk)];
  }
  float y_at(std::int64_t kk, std::int64_t j) const {
    return y[static_cast<std::size_t>(kk * n + j)];
  }

  ReferenceProblem problem(Chain chain) const {
    ReferenceProblem p;
    p.x = MatrixView<const float>(x.data(), m, k);
    p.y = [this](std::int64_t row, std::int64_t col, const MatrixView<float>& out) {
      widen_block(ConstMatrixRef(y.data(), DType::kF32, k, n, n), row, col, out);
    };
    p.chain = chain;
    p.num_threads = 2;
    return p;
  }
};

enum class Values { kOrdinary, kEdges };

float bf16_value(std::mt19937& random, Values values) {
  if (values == Values::kOrdinary) {
    return to_float(to_bf16(std::uniform_real_distribution<float>(-1, 1)(random)));
  }
  // Products and sums around the least normal number, with some subnormal factors, infinities, NaN.
  const auto bits = static_cast<std::uint32_t>(random());
  const std::uint32_t pick = bits % 32;
  if (pick == 0) return std::numeric_limits<float>::infinity();
  if (pick == 1) return std::numeric_limits<float>::quiet_NaN();
  const std::uint32_t exponent = pick < 6 ? 0 : 58 + bits / 32 % 12;
  return std::bit_cast<float>((static_cast<std::uint32_t>(random()) & 0x807f0000u) | exponent
                                                                                         << 23);
}

Operands random_operands(std::int64_t m, std::int64_t k, std::int64_t n, Values values) {
  std::mt19937 random(static_cast<unsigned>(m * 10007 + k * 101 + n));
  Operands o{m, k, n, {}, {}};
  for (std::int64_t i = 0; i < m * k; ++i) o.x.push_back(bf16_value(random, values));
  for (std::int64_t i = 0; i < k * n; ++i) o.y.push_back(bf16_value(random, values));
  return o;
}

float fma_sum(const Operands& o, std::int64_t i, std::int64_t j) {
  float sum = 0;
  for (std::int64_t kk = 0; kk < o.k; ++kk) sum = std::fma(o.x_at(i, kk), o.y_at(kk, j), sum);
  return sum;
}

float no_subnormal(float v) {
  return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v;
}

float pair_step(float x, float y, float sum) {
  return no_subnormal(std::fma(no_subnormal(x), no_subnormal(y), sum));
}

// An odd last element is paired with zeros, which turn a sum of -0 to +0.
float pair_sum(const Operands& o, std::int64_t i, std::int64_t j) {
  float sum = 0;
  for (std::int64_t kk = 0; kk < o.k; kk += 2) {
    const bool has_odd = kk + 1 < o.k;
    sum = pair_step(has_odd ? o.x_at(i, kk + 1) : 0, has_odd ? o.y_at(kk + 1, j) : 0, sum);
    sum = pair_step(o.x_at(i, kk), o.y_at(kk, j), sum);
  }
  return sum;
}

std::vector<float> outputs(const Operands& o, Chain chain) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < o.m; ++i) {
    for (std::int64_t j = 0; j < o.n; ++j) {
      const float sum = chain == Chain::kFma ? fma_sum(o, i, j) : pair_sum(o, i, j);
      out.push_back(std::isnan(sum) ? std::bit_cast<float>(kCanonicalNanF32) : sum);
    }
  }
  return out;
}

std::vector<OutputSlice> one_slice(const Operands& o, const std::vector<float>& out) {
  return {{0, ConstMatrixRef(out.data(), DType::kF32, o.m, o.n, o.n)}};
}

class Reference : public testing::TestWithParam<Chain> {};

TEST_P(Reference, FollowsTheDefinitionBitByBit) {
  // Around the loop's steps of 4 k and 2 rows, and its blocks of 32 k and 256 columns.
  for (std::int64_t m : {1, 2, 3, 5}) {
    for (std::int64_t k : {0, 1, 2, 3, 4, 5, 31, 32, 33, 67}) {
      for (std::int64_t n : {1, 15, 17, 255, 256, 257}) {
        for (Values values : {Values::kOrdinary, Values::kEdges}) {
          const Operands o = random_operands(m, k, n, values);
          const std::vector<float> out = outputs(o, GetParam());
          const Comparison result =
              compare_with_reference(o.problem(GetParam()), one_slice(o, out));
          EXPECT_EQ(result.mismatches, 0) << m << " " << k << " " << n << result.first_mismatch;
          EXPECT_EQ(result.num_elements, m * n);
        }
      }
    }
  }
}

TEST_P(Reference, FindsOneWrongBitAnywhere) {
  const Operands o = random_operands(3, 9, 300, Values::kOrdinary);
  std::vector<float> out = outputs(o, GetParam());
  for (std::size_t at : {std::size_t{0}, std::size_t{299}, std::size_t{556}, out.size() - 1}) {
    const float right = out[at];
    out[at] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(right) ^ 1u);
    const Comparison result = compare_with_reference(o.problem(GetParam()), one_slice(o, out));
    EXPECT_EQ(result.mismatches, 1);
    const std::string place =
        "row " + std::to_string(at / 300) + " column " + std::to_string(at % 300);
    EXPECT_EQ(result.first_mismatch.substr(0, place.size()), place);
    EXPECT_EQ(result.verdict().substr(0, 5), "WRONG");
    out[at] = right;
  }
}

TEST_P(Reference, ComparesEverySliceAtItsColumns) {
  const Operands o = random_operands(4, 6, 600, Values::kOrdinary);
  std::vector<float> out = outputs(o, GetParam());
  const auto cut = [&](std::int64_t begin, std::int64_t end) {
    return OutputSlice{begin,
                       ConstMatrixRef(out.data() + begin, DType::kF32, o.m, end - begin, o.n)};
  };
  const std::vector<OutputSlice> slices = {cut(0, 100), cut(100, 100), cut(100, 301),
                                           cut(301, 600)};
  EXPECT_EQ(compare_with_reference(o.problem(GetParam()), slices).mismatches, 0);
  for (float& v : out) v = -v;
  EXPECT_EQ(compare_with_reference(o.problem(GetParam()), slices).mismatches, 4 * 600);
}

INSTANTIATE_TEST_SUITE_P(Chains, Reference, testing::Values(Chain::kFma, Chain::kBf16Pairs),
                         [](const auto& param) {
                           return param.param == Chain::kFma ? "fmaf" : "bf16_pairs";
                         });

TEST(ReferenceRounding, RoundsOnceToTheOutputType) {
  const Operands o = random_operands(3, 20, 40, Values::kOrdinary);
  std::vector<BFloat16> bf16;
  std::vector<Float16> f16;
  for (std::int64_t i = 0; i < o.m; ++i) {
    for (std::int64_t j = 0; j < o.n; ++j) {
      bf16.push_back(to_bf16(fma_sum(o, i, j)));
      f16.push_back(to_f16(fma_sum(o, i, j)));
    }
  }
  const std::vector<OutputSlice> as_bf16 = {{0, MatrixView<const BFloat16>(bf16.data(), 3, 40)}};
  const std::vector<OutputSlice> as_f16 = {{0, MatrixView<const Float16>(f16.data(), 3, 40)}};
  EXPECT_EQ(compare_with_reference(o.problem(Chain::kFma), as_bf16).mismatches, 0);
  EXPECT_EQ(compare_with_reference(o.problem(Chain::kFma), as_f16).mismatches, 0);
  bf16[77].bits ^= 1;
  f16[78].bits ^= 1;
  EXPECT_EQ(compare_with_reference(o.problem(Chain::kFma), as_bf16).mismatches, 1);
  EXPECT_EQ(compare_with_reference(o.problem(Chain::kFma), as_f16).mismatches, 1);
}

// The library's kernels meet the reference where products and sums leave the normal numbers.
TEST(ReferenceAndLibrary, AgreeOnSubnormalsInfinitiesAndNan) {
  for (Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16}) {
    if (!isa_supported(isa)) continue;
    for (std::int64_t m : {1, 5, 40}) {
      for (std::int64_t k : {1, 2, 3, 8, 33}) {
        const Operands o = random_operands(m, k, 70, Values::kEdges);
        std::vector<BFloat16> x, y;
        for (float v : o.x) x.push_back(to_bf16(v));
        for (float v : o.y) y.push_back(to_bf16(v));
        std::vector<float> out(static_cast<std::size_t>(m * o.n));
        const Axis axis = Mesh::threads({{"one", 1}})[0].axis("one");
        ProblemShape shape;
        shape.m = m;
        shape.k = k;
        shape.n_local = {o.n};
        shape.dtype = DType::kBF16;
        shape.out_dtype = DType::kF32;
        Options options;
        options.isa = isa;
        const Weights weights =
            Weights::pack(MatrixView<const BFloat16>(y.data(), k, o.n), {.engine = Engine::kOwn});
        all_gather_matmul(Plan::make(axis, shape, options),
                          MatrixView<const BFloat16>(x.data(), m, k), weights,
                          MatrixView<float>(out.data(), m, o.n));
        const Chain chain = isa == Isa::kAvx512Bf16 ? Chain::kBf16Pairs : Chain::kFma;
        const Comparison result = compare_with_reference(o.problem(chain), one_slice(o, out));
        EXPECT_EQ(result.mismatches, 0)
            << isa_name(isa) << " m " << m << " k " << k << ": " << result.first_mismatch;
      }
    }
  }
}

TEST(ReferenceAnyOrder, AllowsOtherOrdersAndNoMore) {
  const Operands o = random_operands(5, 1000, 40, Values::kOrdinary);
  std::vector<float> out;  // descending k, in products that are rounded apart
  double largest = 0;
  for (std::int64_t i = 0; i < o.m; ++i) {
    for (std::int64_t j = 0; j < o.n; ++j) {
      float sum = 0;
      double absolute = 0;
      for (std::int64_t kk = o.k - 1; kk >= 0; --kk) {
        sum += o.x_at(i, kk) * o.y_at(kk, j);
        absolute += std::fabs(double{o.x_at(i, kk)} * o.y_at(kk, j));
      }
      largest = std::max(largest, absolute);
      out.push_back(sum);
    }
  }
  ReferenceProblem problem = o.problem(Chain::kFma);
  EXPECT_GT(compare_with_reference(problem, one_slice(o, out)).mismatches, 0);
  problem.any_order = true;
  EXPECT_EQ(compare_with_reference(problem, one_slice(o, out)).mismatches, 0);
  // The bound is 2 k 2^-24 sum |x y|: under 0.05 here, so a lost product of 0.1 or more shows.
  EXPECT_LT(2 * 1000 * 0x1p-24 * largest, 0.05);
  out[123] += 0.1f;
  out[124] = std::numeric_limits<float>::quiet_NaN();
  out[125] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(compare_with_reference(problem, one_slice(o, out)).mismatches, 3);
}

}  // namespace
}  // namespace cmm::cli
