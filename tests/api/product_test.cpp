// The whole operation on ranks that are threads: every element of every output, bit for bit.
#include <gtest/gtest.h>

#include "support/distributed.hpp"

namespace cmm {
namespace {

using test::Problem;
using test::Reference;
using test::run_problem;
using test::SumRule;

const std::vector<Algorithm> kAlgorithms = {
    Algorithm::kDirect, Algorithm::kRing, Algorithm::kBidirectional, Algorithm::kRecursiveDoubling,
    Algorithm::kHierarchical};

std::vector<Isa> isas() {
  std::vector<Isa> supported;
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16}) {
    if (isa_supported(isa)) supported.push_back(isa);
  }
  return supported;
}

Options options_for(Algorithm algorithm, int num_ranks, int pieces) {
  Options options;
  options.algorithm = algorithm;
  options.pieces = pieces;
  if (algorithm == Algorithm::kHierarchical) options.hosts = std::min(num_ranks, 2 + pieces % 2);
  return options;
}

std::string label(Algorithm algorithm, int num_ranks, int pieces) {
  return cat(algorithm_name(algorithm), " P=", num_ranks, " pieces=", pieces);
}

TEST(Product, SameBitsForEveryRankCountAlgorithmAndPieces) {
  const Reference reference({.m = 61, .k = 37, .n = {67}, .seed = 3}, SumRule::kChain);
  for (const int num_ranks : {1, 2, 3, 4, 5, 7, 8, 16}) {
    for (const Algorithm algorithm : kAlgorithms) {
      for (const int pieces : {1, 2, 3, 4}) {
        EXPECT_EQ(run_problem(reference, num_ranks, options_for(algorithm, num_ranks, pieces), 2),
                  "")
            << label(algorithm, num_ranks, pieces);
      }
    }
  }
}

TEST(Product, UnevenRowsWithZeros) {
  const std::vector<std::vector<std::int64_t>> cases = {
      {0, 5, 0}, {3, 0, 0, 9}, {0, 0, 0}, {1, 2, 3, 0, 30}, {70, 1}};
  for (const auto& rows : cases) {
    const int num_ranks = static_cast<int>(rows.size());
    std::int64_t m = 0;
    for (const std::int64_t r : rows) m += r;
    const Reference reference({.m = m, .k = 19, .n = {40}, .gathered = true, .rows = rows},
                              SumRule::kChain);
    for (const Algorithm algorithm : kAlgorithms) {
      for (const int pieces : {1, 3}) {
        EXPECT_EQ(run_problem(reference, num_ranks, options_for(algorithm, num_ranks, pieces)), "")
            << label(algorithm, num_ranks, pieces) << " m=" << m;
      }
    }
  }
}

TEST(Product, EveryRowCountFromDecodeToPrefill) {
  for (const std::int64_t m : {0, 1, 2, 3, 7, 8, 15, 16, 17, 64, 257}) {
    const Reference reference({.m = m, .k = 31, .n = {97}, .gathered = true}, SumRule::kChain);
    for (const int num_ranks : {1, 3}) {
      for (const int threads : {1, 3}) {
        Options options;
        options.threads = threads;
        EXPECT_EQ(run_problem(reference, num_ranks, options, 3), "")
            << "m=" << m << " P=" << num_ranks << " threads=" << threads;
      }
    }
  }
}

TEST(Product, MoreRowsThanOneWave) {
  const Reference reference({.m = 2501, .k = 5, .n = {70}, .gathered = true}, SumRule::kChain);
  for (const int num_ranks : {1, 2, 4}) {
    for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kRing}) {
      for (const int threads : {1, 2}) {
        Options options = options_for(algorithm, num_ranks, 2);
        options.threads = threads;
        EXPECT_EQ(run_problem(reference, num_ranks, options, 2), "")
            << label(algorithm, num_ranks, 2) << " threads=" << threads;
      }
    }
  }
}

TEST(Product, EveryTypeAndInstructionSet) {
  for (const Isa isa : isas()) {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
      for (const DType out_dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
        for (const std::int64_t m : {5, 37}) {
          const Reference reference({.m = m,
                                     .k = 131,
                                     .n = {71},
                                     .dtype = dtype,
                                     .out_dtype = out_dtype,
                                     .bias = true,
                                     .transposed = m == 5},
                                    test::sum_rule(isa, dtype));
          Options options;
          options.isa = isa;
          EXPECT_EQ(run_problem(reference, 2, options), "")
              << isa_name(isa) << " " << dtype_name(dtype) << " to " << dtype_name(out_dtype);
        }
      }
    }
  }
}

TEST(Product, NativeBf16CanBeSwitchedOff) {
  if (!isa_supported(Isa::kAvx512Bf16)) GTEST_SKIP() << "no avx512_bf16 on this machine";
  const Reference reference({.m = 9, .k = 64, .n = {33}, .dtype = DType::kBF16}, SumRule::kChain);
  Options options;
  options.isa = Isa::kAvx512Bf16;
  EXPECT_NE(run_problem(reference, 2, options), "");  // the two definitions do differ here
  options.native_bf16 = false;
  EXPECT_EQ(run_problem(reference, 2, options), "");
}

TEST(Product, SeveralRightSidesWithEpilogues) {
  for (const std::int64_t m : {3, 50}) {
    Problem problem = {.m = m, .k = 29, .n = {40, 1, 100}, .bias = true, .gathered = true};
    problem.activations = {Activation::kRelu, Activation::kGeluTanh, Activation::kGeluErf};
    for (const int num_ranks : {1, 4}) {
      EXPECT_EQ(run_problem(Reference(problem, SumRule::kChain), num_ranks, {}), "") << "m=" << m;
    }
  }
}

TEST(Product, SwigluOverGateAndUp) {
  for (const std::int64_t m : {4, 70}) {
    for (const bool bias : {false, true}) {
      const Reference reference(
          {.m = m, .k = 43, .n = {150, 150}, .bias = bias, .swiglu = true, .gathered = true},
          SumRule::kChain);
      for (const int num_ranks : {1, 2, 5}) {
        EXPECT_EQ(run_problem(reference, num_ranks, {.threads = 2}), "") << "m=" << m;
      }
    }
  }
}

TEST(Product, EmptyExtents) {
  for (const std::int64_t m : {0, 5}) {
    for (const std::int64_t k : {0, 7}) {
      for (const std::int64_t n : {0, 2, 9}) {  // n = 2 on 3 ranks: one rank has no column
        const Reference reference({.m = m, .k = k, .n = {n}, .bias = true}, SumRule::kChain);
        for (const Algorithm algorithm : kAlgorithms) {
          EXPECT_EQ(run_problem(reference, 3, options_for(algorithm, 3, 2)), "")
              << "m=" << m << " k=" << k << " n=" << n;
        }
      }
    }
  }
}

TEST(Product, MoreRanksThanRows) {
  const Reference reference({.m = 5, .k = 11, .n = {24}}, SumRule::kChain);
  for (const Algorithm algorithm : kAlgorithms) {
    EXPECT_EQ(run_problem(reference, 16, options_for(algorithm, 16, 2)), "");
  }
}

TEST(Product, OnePlanServesEverySmallerM) {
  run_ranks({{"tp", 3}}, [](Mesh& mesh) {
    const Axis axis = mesh.axis("tp");
    const Plan plan = Plan::make(axis, {.m = 100, .k = 24, .n_local = {10}});
    for (const std::int64_t m : {100, 1, 0, 64, 17, 99, 2, 100}) {
      const Reference reference({.m = m, .k = 24, .n = {30}}, SumRule::kChain);
      test::RankData data(reference, axis);
      data.call(plan);
      ASSERT_EQ(data.difference(), "") << "m=" << m;
    }
  });
}

TEST(Product, ManyCallsOfOnePlan) {
  const Reference reference({.m = 12, .k = 16, .n = {32}}, SumRule::kChain);
  EXPECT_EQ(run_problem(reference, 2, {}, 1000), "");
  for (const Algorithm algorithm : kAlgorithms) {
    EXPECT_EQ(run_problem(reference, 4, options_for(algorithm, 4, 2), 100), "")
        << algorithm_name(algorithm);
  }
}

TEST(Product, AxesOfOneMeshAreIndependent) {
  const Reference reference({.m = 9, .k = 12, .n = {20}}, SumRule::kChain);
  run_ranks({{"dp", 2}, {"tp", 3}}, [&](Mesh& mesh) {
    for (const char* name : {"tp", "dp", "tp"}) {
      const Axis axis = mesh.axis(name);
      test::RankData data(reference, axis);
      const Plan plan = Plan::make(axis, data.shape());
      data.call(plan);
      ASSERT_EQ(data.difference(), "") << name;
    }
  });
}

TEST(Product, GatherAlone) {
  run_ranks({{"tp", 4}}, [](Mesh& mesh) {
    const Axis axis = mesh.axis("tp");
    for (const Algorithm algorithm : kAlgorithms) {
      const Plan plan =
          Plan::make(axis, {.m = 30, .k = 5, .n_local = {1}}, options_for(algorithm, 4, 2));
      for (const std::int64_t m : {30, 3}) {
        std::vector<float> x;  // each element says where it belongs
        Range rows = even_part(m, 4, axis.rank());
        for (std::int64_t i = rows.begin; i < rows.end; ++i) {
          for (int j = 0; j < 5; ++j) x.push_back(static_cast<float>(10 * i + j));
        }
        std::vector<float> gathered(static_cast<std::size_t>(m * 5), -1.0f);
        all_gather(plan, MatrixView<float>(x.data(), rows.size(), 5),
                   MatrixView<float>(gathered.data(), m, 5));
        for (std::int64_t i = 0; i < m; ++i) {
          for (int j = 0; j < 5; ++j) {
            ASSERT_EQ(gathered[static_cast<std::size_t>(i * 5 + j)],
                      static_cast<float>(10 * i + j));
          }
        }
      }
    }
  });
}

TEST(Product, TheCallersFloatingPointModeDoesNotMatter) {
#if defined(__x86_64__)
  const Reference reference({.m = 3, .k = 40, .n = {8}}, SumRule::kChain);
  const unsigned saved = __builtin_ia32_stmxcsr();
  std::string difference;
  run_ranks({{"tp", 1}}, [&](Mesh& mesh) {
    test::RankData data(reference, mesh.axis("tp"));
    const Plan plan = Plan::make(mesh.axis("tp"), data.shape());
    __builtin_ia32_ldmxcsr(0x1f80 | 0x6000);  // round towards zero
    data.call(plan);
    const bool kept = (__builtin_ia32_stmxcsr() & 0x6000) == 0x6000;
    __builtin_ia32_ldmxcsr(saved);
    difference = kept ? data.difference() : "the caller's rounding mode was not put back";
  });
  EXPECT_EQ(difference, "");
#else
  GTEST_SKIP() << "the rounding mode is set with an x86 instruction";
#endif
}

}  // namespace
}  // namespace cmm
