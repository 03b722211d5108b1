// Right sides that are views of y: the bits of packed weights, from y as it lies, and nothing read
// but y, nor anything of it once a call has ended.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "run_and_catch.hpp"
#include "support/distributed.hpp"
#include "support/mischief.hpp"

namespace cmm {
namespace {

using test::Given;
using test::Problem;
using test::Reference;
using test::run_problem;
using test::SumRule;

std::vector<Isa> isas() {
  std::vector<Isa> supported;
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16}) {
    if (isa_supported(isa)) supported.push_back(isa);
  }
  return supported;
}

TEST(View, SameBitsForEveryTypeInstructionSetAndLayout) {
  for (const Isa isa : isas()) {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
      for (const bool transposed : {false, true}) {
        for (const std::int64_t m : {1, 5, 24, 37}) {
          const Reference reference({.m = m,
                                     .k = 259,  // two blocks of k, or one of pairs, and a rest
                                     .n = {131},
                                     .dtype = dtype,
                                     .bias = true,
                                     .transposed = transposed,
                                     .given = Given::kView},
                                    test::sum_rule(isa, dtype));
          Options options;
          options.isa = isa;
          EXPECT_EQ(run_problem(reference, 2, options), "")
              << isa_name(isa) << " " << dtype_name(dtype) << " m=" << m
              << " transposed=" << transposed;
        }
      }
    }
  }
}

TEST(View, EveryRowCountAndRankCount) {
  for (const std::int64_t m : {0, 1, 2, 7, 13, 16, 23, 24, 25, 64, 257}) {
    for (const bool transposed : {false, true}) {
      const Reference reference({.m = m,
                                 .k = 131,
                                 .n = {300},
                                 .transposed = transposed,
                                 .gathered = true,
                                 .given = Given::kView},
                                SumRule::kChain);
      for (const int num_ranks : {1, 2, 3, 4}) {
        for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kRing}) {
          for (const int threads : {1, 2}) {
            Options options;
            options.algorithm = algorithm;
            options.pieces = 2;
            options.threads = threads;
            EXPECT_EQ(run_problem(reference, num_ranks, options, 2), "")
                << "m=" << m << " P=" << num_ranks << " " << algorithm_name(algorithm)
                << " threads=" << threads << " transposed=" << transposed;
          }
        }
      }
    }
  }
}

TEST(View, MoreRowsThanOneWave) {
  const Reference reference({.m = 2501, .k = 5, .n = {70}, .given = Given::kView}, SumRule::kChain);
  for (const int num_ranks : {1, 3}) {
    EXPECT_EQ(run_problem(reference, num_ranks, {.threads = 2}), "") << "P=" << num_ranks;
  }
}

TEST(View, MoreColumnsThanOneCallOfTheDriverTakes) {
  for (const std::int64_t m : {3, 24, 60, 300, 530}) {
    const Reference plain({.m = m, .k = 5, .n = {2500}, .given = Given::kView}, SumRule::kChain);
    const Reference swiglu(
        {.m = m, .k = 5, .n = {1300, 1300}, .swiglu = true, .given = Given::kMixed},
        SumRule::kChain);
    for (const int threads : {1, 2}) {
      EXPECT_EQ(run_problem(plain, 1, {.threads = threads}), "") << "m=" << m;
      EXPECT_EQ(run_problem(swiglu, 1, {.threads = threads}), "") << "m=" << m;
    }
  }
}

TEST(View, BesidePackedRightSidesWithEpilogues) {
  for (const Given given : {Given::kView, Given::kMixed}) {
    for (const std::int64_t m : {3, 50}) {
      Problem problem = {.m = m, .k = 29, .n = {40, 1, 100}, .bias = true};
      problem.activations = {Activation::kRelu, Activation::kGeluTanh, Activation::kGeluErf};
      problem.given = given;
      for (const int num_ranks : {1, 4}) {
        EXPECT_EQ(run_problem(Reference(problem, SumRule::kChain), num_ranks, {}), "") << "m=" << m;
      }
      const Reference swiglu(
          {.m = m, .k = 143, .n = {150, 150}, .bias = true, .swiglu = true, .given = given},
          SumRule::kChain);
      for (const int num_ranks : {1, 2}) {
        EXPECT_EQ(run_problem(swiglu, num_ranks, {.threads = 2}), "") << "m=" << m;
      }
    }
  }
}

TEST(View, EmptyExtents) {
  for (const std::int64_t m : {0, 5, 30}) {
    for (const std::int64_t k : {0, 7}) {
      for (const std::int64_t n : {0, 2, 9}) {  // n = 2 on 3 ranks: one rank has no column
        const Reference reference({.m = m, .k = k, .n = {n}, .bias = true, .given = Given::kView},
                                  SumRule::kChain);
        EXPECT_EQ(run_problem(reference, 3, {}), "") << "m=" << m << " k=" << k << " n=" << n;
      }
    }
  }
}

// y of any strides, negative and zero ones too.
TEST(View, AnyStrides) {
  constexpr std::int64_t kK = 150, kN = 70;
  const test::Values y = test::random_values(kK, kN, DType::kF32, 5);
  const test::Values x = test::random_values(20, kK, DType::kF32, 6);
  std::vector<float> backwards(3 * kK *
                               kN);  // element (p, j) at -(p * 3 * kN + j * 3) from the end
  const float* last = backwards.data() + backwards.size() - 1;
  for (std::int64_t p = 0; p < kK; ++p) {
    for (std::int64_t j = 0; j < kN; ++j) {
      backwards[backwards.size() - 1 - static_cast<std::size_t>(3 * (p * kN + j))] = y.at(p, j);
    }
  }
  const StridedMatrixRef refs[] = {
      {last, DType::kF32, kK, kN, -3 * kN, -3},
      {y.data.data(), DType::kF32, kK, kN, kN, 0},  // one column, again and again
      {y.data.data(), DType::kF32, kK, kN, 0, 1},   // one row, again and again
      {y.data.data() + (kK - 1) * kN, DType::kF32, kK, kN, -kN, 1},
  };
  run_ranks({{"tp", 1}}, [&](Mesh& mesh) {
    const Plan plan = Plan::make(mesh.axis("tp"), {.m = 20, .k = kK, .n_local = {kN}});
    for (const StridedMatrixRef& ref : refs) {
      std::vector<float> packed(20 * kN), viewed(20 * kN, -1.0f);
      const MatrixView<const float> rows(x.data.data(), 20, kK);
      all_gather_matmul(plan, rows, Weights::pack(ref, {.engine = Engine::kOwn}),
                        MatrixView<float>(packed.data(), 20, kN));
      all_gather_matmul(plan, rows, Weights::view(ref), MatrixView<float>(viewed.data(), 20, kN));
      EXPECT_EQ(packed, viewed) << "strides " << ref.row_stride << ", " << ref.col_stride;
    }
  });
}

// A y that is unmapped as soon as the call has ended.
struct ShortLivedY {
  static constexpr std::int64_t kK = 64, kN = 640;
  test::Stored y{test::random_values(kK, kN, DType::kF32, 7), DType::kF32, kN, test::Flush::kEnd};
};

// Thread 0 fails while its helper has still to multiply.
TEST(View, IsNotTouchedOnceAFailedCallHasThrown) {
  struct Hooked {
    std::atomic<bool> helper_claims{false};
    std::atomic<bool> helper_is_late{false};
    static void reach(void* self, exec::Point point, int thread) {
      auto& hooked = *static_cast<Hooked*>(self);
      if (point == exec::Point::kPacked) {
        hooked.helper_claims.store(true);  // from now on it claims blocks of the product, too
      } else if (point == exec::Point::kClaimed && thread == 1 && hooked.helper_claims.load()) {
        hooked.helper_is_late.store(true);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      } else if (point == exec::Point::kClaimed && thread == 0) {
        while (!hooked.helper_is_late.load()) std::this_thread::yield();
        throw test::Sabotage();
      }
    }
  };
  run_ranks({{"tp", 1}}, [&](Mesh& mesh) {
    const Plan plan =
        Plan::make(mesh.axis("tp"), {.m = 30, .k = ShortLivedY::kK, .n_local = {ShortLivedY::kN}},
                   {.threads = 2});
    Hooked hooked;
    plan.state().set_hook({&Hooked::reach, &hooked});
    const std::vector<float> x(30 * ShortLivedY::kK);
    std::vector<float> out(30 * ShortLivedY::kN);
    auto data = std::make_unique<ShortLivedY>();
    EXPECT_THROW(all_gather_matmul(plan, MatrixView<const float>(x.data(), 30, ShortLivedY::kK),
                                   Weights::view(data->y.ref()),
                                   MatrixView<float>(out.data(), 30, ShortLivedY::kN)),
                 test::Sabotage);
    data.reset();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  });
}

TEST(View, IsNotTouchedAfterADeadline) {
  std::atomic<bool> over{false};
  const test::Messages messages = test::run_and_catch(2, [&](const Axis& axis) {
    const Plan plan =
        Plan::make(axis, {.m = 60, .k = ShortLivedY::kK, .n_local = {ShortLivedY::kN}},
                   {.threads = 2, .deadline = std::chrono::milliseconds(1000)});
    if (axis.rank() == 1) {  // never calls
      while (!over.load()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return;
    }
    const std::vector<float> x(30 * ShortLivedY::kK);
    std::vector<float> out(60 * ShortLivedY::kN);
    auto data = std::make_unique<ShortLivedY>();
    try {
      all_gather_matmul(plan, MatrixView<const float>(x.data(), 30, ShortLivedY::kK),
                        Weights::view(data->y.ref()),
                        MatrixView<float>(out.data(), 60, ShortLivedY::kN));
    } catch (const Error&) {
      data.reset();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      over.store(true);
      throw;
    }
  });
  EXPECT_NE(messages[0].find("waited 1000 ms"), std::string::npos) << messages[0];
}

std::string message_of(const std::function<void()>& make, ErrorCode code) {
  try {
    make();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "";
}

TEST(View, RefusesWhatPackRefusesAndTheLibraryEngine) {
  const std::vector<float> y(12);
  const MatrixView<const float> ref(y.data(), 3, 4);
  EXPECT_EQ(
      message_of([&] { Weights::view(ref, {.engine = Engine::kOneDnn}); }, ErrorCode::kUnsupported),
      "a view of y is multiplied by our own kernels; engine onednn needs y in its own layout: "
      "Weights::pack makes it");
  EXPECT_EQ(message_of([&] { Weights::view(ref, {.transposed = true, .bias = y}); },
                       ErrorCode::kInvalidArgument),
            "the bias has 12 elements, y has n=3 columns");
  EXPECT_EQ(message_of([] { Weights::view(StridedMatrixRef(nullptr, DType::kF32, 3, 4, 4, 1)); },
                       ErrorCode::kInvalidArgument),
            "y [k, n] is [3, 4] at a null pointer");
  const Weights view = Weights::view(ref, {.transposed = true});
  EXPECT_EQ(view.k(), 4);
  EXPECT_EQ(view.n(), 3);
  EXPECT_EQ(view.bytes(), 0);
  EXPECT_EQ(view.engine(), Engine::kOwn);
}

}  // namespace
}  // namespace cmm
