// The oneDNN engine behind the public interface: right within the error that any order of summation
// can make, whatever the epilogue, rows and threads; refusals that say what would be right.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cmm/cmm.hpp"

namespace cmm {
namespace {

// A matrix of one dtype, kept as bytes, that reads as double.
class Matrix {
 public:
  Matrix(DType dtype, std::int64_t rows, std::int64_t cols, std::int64_t stride = 0)
      : dtype_(dtype),
        rows_(rows),
        cols_(cols),
        stride_(std::max(stride, cols)),
        f32_(static_cast<std::size_t>(rows * stride_)),
        u16_(static_cast<std::size_t>(rows * stride_)) {}

  void fill_random(unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> values(-1, 1);
    for (std::int64_t i = 0; i < rows_ * stride_; ++i) set(i, values(random));
  }
  void fill(float value) {
    for (std::int64_t i = 0; i < rows_ * stride_; ++i) set(i, value);
  }
  double at(std::int64_t i, std::int64_t j) const { return get(i * stride_ + j); }
  MatrixRef ref() { return {data(), dtype_, rows_, cols_, stride_}; }
  ConstMatrixRef view() { return ref(); }
  ConstMatrixRef rows(std::int64_t first, std::int64_t count) {
    auto* from = static_cast<std::byte*>(data()) +
                 first * stride_ * static_cast<std::int64_t>(dtype_bytes(dtype_));
    return {from, dtype_, count, cols_, stride_};
  }
  void* data() { return dtype_ == DType::kF32 ? static_cast<void*>(f32_.data()) : u16_.data(); }
  std::int64_t num_cols() const { return cols_; }
  std::int64_t stride() const { return stride_; }

 private:
  void set(std::int64_t i, float value) {
    const auto at = static_cast<std::size_t>(i);
    f32_[at] = value;
    u16_[at] = dtype_ == DType::kF16 ? to_f16(value).bits : to_bf16(value).bits;
  }
  double get(std::int64_t i) const {
    const auto at = static_cast<std::size_t>(i);
    if (dtype_ == DType::kF32) return f32_[at];
    return dtype_ == DType::kF16 ? to_float(Float16{u16_[at]}) : to_float(BFloat16{u16_[at]});
  }

  DType dtype_;
  std::int64_t rows_, cols_, stride_;
  std::vector<float> f32_;
  std::vector<std::uint16_t> u16_;
};

double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case Activation::kGeluErf:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
  }
  return 0;
}
constexpr double kSteepest = 1.13;  // slope of all of them
constexpr double kF32Unit = 0x1p-24;

// A value and how far a right result may lie from it.
struct Bounded {
  double value = 0;
  double error = 0;
};

// A f32 sum of k exact or once rounded products and a bias, in any order: at most k + 2 roundings
// on each term's way. (1 + u)^k stays below 1 + 1.01 k u for the k used here.
Bounded sum(const Matrix& x, std::int64_t i, const Matrix& y, std::int64_t j, double bias) {
  Bounded result{bias, std::abs(bias)};
  const std::int64_t k = x.num_cols();
  for (std::int64_t p = 0; p < k; ++p) {
    const double term = x.at(i, p) * y.at(p, j);
    result.value += term;
    result.error += std::abs(term);
  }
  result.error *= 1.01 * static_cast<double>(k + 2) * kF32Unit;
  return result;
}

// The activation's own error is a few units of its result (docs/numerics.md).
Bounded activated(Activation activation, const Bounded& x) {
  const double value = activate(activation, x.value);
  return {value, kSteepest * x.error + 8 * kF32Unit * (std::abs(value) + std::abs(x.value))};
}

void expect_within(const Bounded& right, double out, DType out_dtype, const std::string& where) {
  const double unit = out_dtype == DType::kF32    ? kF32Unit
                      : out_dtype == DType::kBF16 ? 0x1p-8
                                                  : 0x1p-11;
  // 2^-25: half the distance of subnormal f16 values.
  const double error = right.error + unit * (std::abs(right.value) + right.error) + 0x1p-25;
  ASSERT_LE(std::abs(out - right.value), 1.0001 * error) << where;
}

struct Case {
  DType dtype = DType::kF32;
  DType out_dtype = DType::kF32;
  std::int64_t m = 1, k = 1, n = 1;
  int num_ranks = 1;
  std::vector<std::int64_t> rows = {};
  Activation activation = Activation::kNone;
  bool bias = false;
  bool swiglu = false;
  Options options = {};
};

std::string place(const Case& c, std::int64_t i, std::int64_t j) {
  return std::string(dtype_name(c.dtype)) + " m=" + std::to_string(c.m) +
         " k=" + std::to_string(c.k) + " n=" + std::to_string(c.n) +
         " P=" + std::to_string(c.num_ranks) + " at [" + std::to_string(i) + ", " +
         std::to_string(j) + "], " + std::string(activation_name(c.activation));
}

// Every rank multiplies by the same y, so that one reference serves all.
void check(const Case& c) {
  Matrix x(c.dtype, c.m, c.k, c.k + 3);
  Matrix y(c.dtype, c.k, c.n);
  Matrix up(c.dtype, c.k, c.n);
  x.fill_random(1);
  y.fill_random(2);
  up.fill_random(3);
  std::vector<float> bias(static_cast<std::size_t>(c.n));
  for (std::size_t j = 0; j < bias.size(); ++j) bias[j] = 0.25f * static_cast<float>(j % 7) - 0.5f;
  const PackOptions pack{.bias = c.bias ? std::span<const float>(bias) : std::span<const float>(),
                         .engine = Engine::kOneDnn};
  std::vector<Weights> weights = {Weights::pack(y.view(), pack)};
  if (c.swiglu) weights.push_back(Weights::pack(up.view(), pack));
  ProblemShape shape{.m = c.m,
                     .k = c.k,
                     .n_local = std::vector<std::int64_t>(weights.size(), c.n),
                     .dtype = c.dtype,
                     .out_dtype = c.out_dtype,
                     .rows = c.rows};
  Options options = c.options;
  options.swiglu = c.swiglu;
  if (!c.swiglu) options.activations = {c.activation};
  constexpr float kUntouched = 77;

  run_ranks({{"tp", c.num_ranks}}, [&](Mesh& mesh) {
    const Plan plan = Plan::make(mesh.axis("tp"), shape, options);
    std::int64_t first = 0;
    for (int r = 0; r < mesh.rank(); ++r) first += plan.rows_of(r, c.m);
    Matrix out(c.out_dtype, c.m, c.n, c.n + 2);
    Matrix gathered(c.dtype, c.m, c.k);
    const MatrixRef to = out.ref();
    for (int call = 0; call < 2; ++call) {
      out.fill(kUntouched);
      all_gather_matmul(plan, x.rows(first, plan.rows_of(mesh.rank(), c.m)), weights,
                        std::span(&to, 1), {.gathered = gathered.ref()});
    }
    for (std::int64_t i = 0; i < c.m; ++i) {
      for (std::int64_t j = 0; j < c.n; ++j) {
        const double b = c.bias ? bias[static_cast<std::size_t>(j)] : 0;
        Bounded right = sum(x, i, y, j, b);
        if (c.swiglu) {
          const Bounded gate = activated(Activation::kSilu, right);
          const Bounded other = sum(x, i, up, j, b);
          right = {gate.value * other.value,
                   std::abs(gate.value) * other.error + gate.error * std::abs(other.value) +
                       gate.error * other.error + kF32Unit * std::abs(gate.value * other.value)};
        } else {
          right = activated(c.activation, right);
        }
        expect_within(right, out.at(i, j), c.out_dtype, place(c, i, j));
        if (testing::Test::HasFatalFailure()) return;
      }
      for (std::int64_t j = c.n; j < c.n + 2; ++j) ASSERT_EQ(out.at(i, j), kUntouched);
      for (std::int64_t p = 0; p < c.k; ++p) ASSERT_EQ(gathered.at(i, p), x.at(i, p));
    }
  });
}

// f32 always; bf16 where oneDNN has it on this processor.
bool has(DType dtype) {
  Matrix y(dtype, 1, 1);
  try {
    Weights::pack(y.view(), {.engine = Engine::kOneDnn});
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << error.what();
    return false;
  }
}

class OneDnn : public testing::Test {
 protected:
  void SetUp() override {
    if (!engine_available(Engine::kOneDnn)) GTEST_SKIP() << "this build has no oneDNN engine";
  }
};

TEST_F(OneDnn, MultipliesF32OnEveryProcessor) { EXPECT_TRUE(has(DType::kF32)); }

TEST_F(OneDnn, IsRightForSmallLargeAndRaggedShapes) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    if (!has(dtype)) continue;
    for (const std::int64_t m : {1, 2, 17, 300}) {  // 300: more than a block of rows
      check({.dtype = dtype, .m = m, .k = 67, .n = 45});
    }
    check({.dtype = dtype, .m = 7, .k = 1, .n = 1});
    check({.dtype = dtype, .m = 5, .k = 0, .n = 9, .bias = true});
    check({.dtype = dtype, .m = 5, .k = 9, .n = 0});
    check({.dtype = dtype, .m = 0, .k = 9, .n = 4});
  }
}

TEST_F(OneDnn, AppliesEveryEpilogueAndOutputType) {
  for (const DType out : {DType::kF32, DType::kBF16, DType::kF16}) {
    for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGeluTanh,
                                        Activation::kGeluErf, Activation::kSilu}) {
      check({.out_dtype = out,
             .m = 9,
             .k = 33,
             .n = 37,
             .num_ranks = 2,
             .activation = activation,
             .bias = true});
    }
    check({.out_dtype = out, .m = 9, .k = 33, .n = 37, .num_ranks = 2, .swiglu = true});
    check({.out_dtype = out, .m = 9, .k = 33, .n = 37, .bias = true, .swiglu = true});
  }
}

TEST_F(OneDnn, TakesUnevenRowsEveryAlgorithmAndTwoThreads) {
  for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kRing, Algorithm::kBidirectional,
                                    Algorithm::kRecursiveDoubling}) {
    check({.m = 24,
           .k = 40,
           .n = 50,
           .num_ranks = 4,
           .rows = {5, 0, 18, 1},
           .options = {.algorithm = algorithm, .pieces = 2, .threads = 2}});
  }
}

TEST_F(OneDnn, TakesAnyStridesOfYAndKeepsItsOwnCopy) {
  const std::int64_t k = 12, n = 10;
  Matrix dense(DType::kF32, k, n);
  dense.fill_random(5);
  Matrix x(DType::kF32, 3, k);
  x.fill_random(6);
  Matrix storage(DType::kF32, 1, 4 * k * n);
  auto* data = static_cast<float*>(storage.data());
  struct Layout {
    std::int64_t origin, row_stride, col_stride;
  };
  for (const Layout layout : {Layout{0, n + 3, 1}, Layout{0, 1, k + 2}, Layout{0, 2 * n, 2},
                              Layout{(k - 1) * n + n - 1, -n, -1}}) {
    for (std::int64_t p = 0; p < k; ++p) {
      for (std::int64_t j = 0; j < n; ++j) {
        data[layout.origin + p * layout.row_stride + j * layout.col_stride] =
            static_cast<float>(dense.at(p, j));
      }
    }
    const Weights y = Weights::pack(
        {data + layout.origin, DType::kF32, k, n, layout.row_stride, layout.col_stride},
        {.engine = Engine::kOneDnn});
    EXPECT_EQ(y.engine(), Engine::kOneDnn);
    EXPECT_GE(y.bytes(), k * n * 4);
    storage.fill(0);
    Matrix out(DType::kF32, 3, n);
    run_ranks({{"tp", 1}}, [&](Mesh& mesh) {
      const Plan plan = Plan::make(mesh.axis("tp"), {.m = 3, .k = k, .n_local = {n}});
      all_gather_matmul(plan, x.ref(), y, out.ref());
    });
    for (std::int64_t i = 0; i < 3; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        expect_within(sum(x, i, dense, j, 0), out.at(i, j), DType::kF32, "strided y");
      }
    }
  }
}

std::ptrdiff_t num_threads_of_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

TEST_F(OneDnn, RunsOnTheRanksThreadsAndLeavesNone) {
  if (!std::filesystem::exists("/proc/self/task")) GTEST_SKIP() << "no /proc/self/task";
  const std::ptrdiff_t before = num_threads_of_process();
  check({.m = 64, .k = 64, .n = 64, .num_ranks = 2, .options = {.threads = 2}});
  // OpenMP's helpers end soon after the thread they worked for, but nobody waits for them.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (num_threads_of_process() > before && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(num_threads_of_process(), before);

  Matrix x(DType::kF32, 64, 64), y(DType::kF32, 64, 64), out(DType::kF32, 64, 64);
  const Weights weights = Weights::pack(y.view(), {.engine = Engine::kOneDnn});
  run_ranks({{"tp", 1}}, [&](Mesh& mesh) {
    const Plan plan = Plan::make(mesh.axis("tp"), {.m = 64, .k = 64, .n_local = {64}});
    all_gather_matmul(plan, x.ref(), weights, out.ref());
    EXPECT_EQ(plan.explain().engine, Engine::kOneDnn);
    EXPECT_NE(plan.explain().numerics.find("no bits"), std::string::npos);
    EXPECT_EQ(num_threads_of_process(), before + 1) << "a rank of one thread has a helper";
  });
}

TEST_F(OneDnn, RefusesF16) {
  Matrix y(DType::kF16, 4, 4);
  try {
    Weights::pack(y.view(), {.engine = Engine::kOneDnn});
    FAIL() << "packed f16";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("f16"), std::string::npos) << error.what();
  }
}

TEST_F(OneDnn, DoesNotMixWithOurKernelsInOneCall) {
  Matrix x(DType::kF32, 2, 4), y(DType::kF32, 4, 4), a(DType::kF32, 2, 4), b(DType::kF32, 2, 4);
  const std::vector<Weights> weights = {Weights::pack(y.view(), {.engine = Engine::kOneDnn}),
                                        Weights::pack(y.view(), {.engine = Engine::kOwn})};
  const std::vector<MatrixRef> out = {a.ref(), b.ref()};
  try {
    run_ranks({{"tp", 1}}, [&](Mesh& mesh) {
      const Plan plan = Plan::make(mesh.axis("tp"), {.m = 2, .k = 4, .n_local = {4, 4}});
      all_gather_matmul(plan, x.ref(), weights, out);
    });
    FAIL() << "engines were mixed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("onednn"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("own"), std::string::npos) << error.what();
  }
}

TEST(OneDnnMissing, IsAnErrorThatNamesThePackages) {
  if (engine_available(Engine::kOneDnn)) GTEST_SKIP() << "this build has the oneDNN engine";
  Matrix y(DType::kF32, 4, 4);
  try {
    Weights::pack(y.view(), {.engine = Engine::kOneDnn});
    FAIL() << "packed without oneDNN";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("libdnnl-dev"), std::string::npos) << error.what();
  }
  EXPECT_EQ(Weights::pack(y.view()).engine(), Engine::kOwn);
}

TEST(EngineNames, AreReadBack) {
  for (const Engine engine : {Engine::kAuto, Engine::kOwn, Engine::kOneDnn}) {
    EXPECT_EQ(parse_engine(engine_name(engine)), engine);
  }
  EXPECT_THROW(parse_engine("mkl"), Error);
}

}  // namespace
}  // namespace cmm
