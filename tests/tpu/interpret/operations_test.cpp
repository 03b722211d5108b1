// What each operation on vectors yields.
#include <cmath>
#include <random>

#include "cmm/dtype.hpp"
#include "tpu/interpret/elements.hpp"
#include "tpu/interpret/small_programs.hpp"
#include "tpu/interpret/vectors.hpp"

namespace cmm::tpu {
namespace {

std::vector<float> random_floats(std::mt19937& random, std::int64_t count, Element element) {
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = round_to(element, normal(random));
  return values;
}

// The chain fma(a, b, sum) along ascending k, from 0 on.
std::vector<float> fma_chain(const MatmulShape& shape, const std::vector<float>& lhs,
                             const std::vector<float>& rhs) {
  std::vector<float> result;
  for (std::int64_t i = 0; i < shape.rows; ++i) {
    for (std::int64_t j = 0; j < shape.cols; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < shape.inner; ++k) {
        const std::int64_t at = shape.rhs_transposed ? j * shape.inner + k : k * shape.cols + j;
        sum = std::fma(lhs[static_cast<std::size_t>(i * shape.inner + k)],
                       rhs[static_cast<std::size_t>(at)], sum);
      }
      result.push_back(sum);
    }
  }
  return result;
}

std::vector<MatmulShape> matmul_shapes() {
  std::vector<MatmulShape> shapes;
  for (const std::int64_t rows : {1, 3, 4, 9}) {
    for (const std::int64_t inner : {1, 33}) {
      for (const std::int64_t cols : {1, 40, 515}) {
        for (const bool transposed : {false, true}) {
          shapes.push_back({rows, inner, cols, transposed});
        }
      }
    }
  }
  return shapes;
}

TEST(MatmulOfFloats, IsAnFmaChainOverAscendingK) {
  std::mt19937 random(1);
  for (const MatmulShape& shape : matmul_shapes()) {
    for (const Element element : {Element::kBF16, Element::kF8E4M3}) {
      VectorValue lhs, rhs, result;
      lhs.floats = random_floats(random, shape.rows * shape.inner, element);
      rhs.floats = random_floats(random, shape.inner * shape.cols, element);
      result.floats = {1, 2, 3};  // of an earlier iteration
      matmul(result, shape, element, lhs, rhs);
      EXPECT_EQ(result.floats, fma_chain(shape, lhs.floats, rhs.floats));
    }
  }
}

TEST(MatmulOfFloats, RoundsF32OperandsToBf16) {
  std::mt19937 random(2);
  const MatmulShape shape{.rows = 5, .inner = 20, .cols = 7};
  VectorValue lhs, rhs, result;
  lhs.floats = random_floats(random, 100, Element::kF32);
  rhs.floats = random_floats(random, 140, Element::kF32);
  matmul(result, shape, Element::kF32, lhs, rhs);
  for (float& value : lhs.floats) value = to_float(to_bf16(value));
  for (float& value : rhs.floats) value = to_float(to_bf16(value));
  EXPECT_EQ(result.floats, fma_chain(shape, lhs.floats, rhs.floats));
}

TEST(MatmulOfFloats, KeepsNaN) {
  VectorValue lhs, rhs, result;
  lhs.floats = {std::nanf(""), 1};
  rhs.floats = {0, 0};
  matmul(result, {.rows = 1, .inner = 2, .cols = 1}, Element::kBF16, lhs, rhs);
  EXPECT_TRUE(std::isnan(result.floats[0]));
}

TEST(MatmulOfIntegers, IsExact) {
  std::mt19937 random(3);
  for (const MatmulShape& shape : matmul_shapes()) {
    const auto integers = [&](std::int64_t count) {
      std::vector<std::int32_t> values(static_cast<std::size_t>(count));
      for (std::int32_t& value : values) value = static_cast<std::int8_t>(random());
      return values;
    };
    VectorValue lhs, rhs, result;
    lhs.integers = integers(shape.rows * shape.inner);
    rhs.integers = integers(shape.inner * shape.cols);
    matmul(result, shape, Element::kS8, lhs, rhs);
    std::vector<float> left(lhs.integers.begin(), lhs.integers.end());
    std::vector<float> right(rhs.integers.begin(), rhs.integers.end());
    const std::vector<float> exact = fma_chain(shape, left, right);  // all below 2^24
    EXPECT_EQ(result.integers, std::vector<std::int32_t>(exact.begin(), exact.end()));
  }
}

TEST(MatmulOfIntegers, IsExactBeyondWhatFloatsHold) {
  for (const std::int32_t value : {-128, 127}) {
    const MatmulShape shape{.rows = 2, .inner = 3000, .cols = 3};
    VectorValue lhs, rhs, result;
    lhs.integers.assign(6000, value);
    rhs.integers.assign(9000, value);
    rhs.integers[0] = 1;  // an odd sum, far above 2^24
    matmul(result, shape, Element::kS8, lhs, rhs);
    const std::int32_t full = 3000 * value * value;
    const std::int32_t first = 2999 * value * value + value;
    EXPECT_EQ(result.integers, (std::vector<std::int32_t>{first, full, full, first, full, full}));
  }
}

TEST(Add, RoundsToItsType) {
  VectorValue a, b, sum;
  a.floats = {1.0f, 256.0f};
  b.floats = {0x1p-20f, 1.0f};
  add(sum, {Element::kF32, {2}}, a, b);
  EXPECT_EQ(sum.floats, (std::vector<float>{1.0f + 0x1p-20f, 257.0f}));
  add(sum, {Element::kBF16, {2}}, a, b);
  EXPECT_EQ(sum.floats, (std::vector<float>{1.0f, 256.0f}));  // ties to even
  VectorValue c, d, wrapped;
  c.integers = {0x7fffffff, -5};
  d.integers = {1, 3};
  add(wrapped, {Element::kS32, {2}}, c, d);
  EXPECT_EQ(wrapped.integers, (std::vector<std::int32_t>{INT32_MIN, -2}));
}

TEST(Cast, RoundsFloatsAndDropsHighBitsOfIntegers) {
  VectorValue from, to;
  from.floats = {1.00390625f, 3.01f, 500.0f};
  cast(to, Element::kBF16, from);
  EXPECT_EQ(to.floats, (std::vector<float>{1.0f, 3.015625f, 500.0f}));
  cast(to, Element::kF8E4M3, from);
  EXPECT_EQ(to.floats[0], 1.0f);
  EXPECT_EQ(to.floats[1], 3.0f);
  EXPECT_TRUE(std::isnan(to.floats[2]));
  VectorValue integers, low;
  integers.integers = {0x1234ff, 200, -3};
  cast(low, Element::kS8, integers);
  EXPECT_EQ(low.integers, (std::vector<std::int32_t>{-1, -56, -3}));
}

// Through a program: loads of parts, all operations, stores of parts.
TEST(Statements, ComputeOnVectors) {
  for (const bool first : {true, false}) {
    Writer w;
    const int x = w.hbm_input({8, 256}), out = w.hbm_output({8, 256});
    const int slot = w.vmem({3, 8, 256}), sums = w.vmem({8, 256}), come = w.dma("come");
    const Scalar zero = w.c(0), two = w.c(2);
    const Slice there{slot, {two, zero, zero}, {1, 8, 256}, 1};
    w.copy(w.whole(x), there, come);
    const auto half = [&](int i) { return Slice{slot, {two, zero, w.c(128 * i)}, {1, 8, 128}, 1}; };
    const Vector a = w.load(half(0)), b = w.load(half(1));
    const Vector flat = w.reshape(w.add(a, b), {4, 256});
    const Vector again = w.reshape(flat, {8, 128});
    // The condition is no constant, so that it is left to the run.
    const Scalar condition = w.equal(w.device_id(), w.c(first ? 0 : 1));
    const Vector chosen =
        w.select(condition, w.cast(again, Element::kF32), w.zero({Element::kF32, {8, 128}}));
    w.store(chosen, {sums, {zero, w.c(128)}, {8, 128}, 0});
    w.store(a, {sums, {zero, zero}, {8, 128}, 0});
    w.copy(w.whole(sums), w.whole(out), come);
    const Program program = w.finish();
    ASSERT_EQ(check_program(program, v6e()), "");
    const RunResult result = run(program, v6e(), numbered_inputs(program), {});
    ASSERT_FALSE(result.fault) << fault_text(result);
    const std::vector<float> got = values_of<float>(result.outputs[0][0]);
    for (int row = 0; row < 8; ++row) {
      for (int col = 0; col < 128; ++col) {
        const auto at = static_cast<float>(256 * row + col);
        ASSERT_EQ(got[static_cast<std::size_t>(256 * row + col)], at);
        ASSERT_EQ(got[static_cast<std::size_t>(256 * row + 128 + col)], first ? at + at + 128 : 0);
      }
    }
  }
}

// A product of each type through copies, loads, a cast and a store.
TEST(Statements, MultiplyEveryType) {
  std::mt19937 random(4);
  for (const Element element : {Element::kF32, Element::kBF16, Element::kF8E4M3, Element::kS8}) {
    Writer w;
    const bool integers = is_integer(element);
    const Element sum = integers ? Element::kS32 : Element::kF32;
    const int x = w.hbm_input({32, 128}, element), y = w.hbm_input({128, 128}, element);
    const int x_slot = w.vmem({32, 128}, element), y_slot = w.vmem({128, 128}, element);
    const int out_slot = w.vmem({32, 128}, sum), out = w.hbm_output({32, 128}, sum);
    const int come = w.dma("come");
    w.copy(w.whole(x), w.whole(x_slot), come);
    w.copy(w.whole(y), w.whole(y_slot), come);
    const Vector left = w.load(w.whole(x_slot)), right = w.load(w.whole(y_slot));
    w.store(w.matmul(left, right, true), w.whole(out_slot));
    w.copy(w.whole(out_slot), w.whole(out), come);
    const Program program = w.finish();

    const MatmulShape shape{.rows = 32, .inner = 128, .cols = 128, .rhs_transposed = true};
    std::vector<std::vector<Array>> inputs(1);
    std::vector<std::vector<float>> values;
    for (const std::size_t count : {32 * 128, 128 * 128}) {
      Array& array =
          inputs[0].emplace_back(count * static_cast<std::size_t>(element_bytes(element)));
      std::vector<float>& each = values.emplace_back();
      for (std::size_t i = 0; i < count; ++i) {
        const auto value = static_cast<std::int32_t>(random() % 9) - 4;
        each.push_back(static_cast<float>(value));
        std::byte* const at = &array[i * static_cast<std::size_t>(element_bytes(element))];
        if (integers) {
          store_integer(element, value, at);
        } else {
          store_float(element, static_cast<float>(value), at);
        }
      }
    }
    const RunResult result = run(program, v6e(), inputs, {});
    ASSERT_FALSE(result.fault) << fault_text(result);
    const std::vector<float> exact = fma_chain(shape, values[0], values[1]);
    if (integers) {
      EXPECT_EQ(values_of<std::int32_t>(result.outputs[0][0]),
                std::vector<std::int32_t>(exact.begin(), exact.end()));
    } else {
      EXPECT_EQ(values_of<float>(result.outputs[0][0]), exact);
    }
  }
}

// The grid goes in order, loops nest, and a table is read as the run goes on.
TEST(Statements, FollowGridLoopsAndTables) {
  Writer w(2);
  const int table = w.buffer({"table", Memory::kSmem, Element::kS32, {3}, Role::kInput});
  w.program().grid = {2, 3};
  w.when(w.equal(w.grid_index(0), w.c(1)), [&] {
    const Scalar trips = w.read(table, {w.grid_index(1)});
    w.loop(w.c(0), trips, [&](Scalar i) {
      w.scope("inner", [&] {
        w.loop(i, w.c(2), [&](Scalar j) { w.debug_print("{} {} {}", {w.grid_index(1), i, j}); });
      });
    });
  });
  const Program program = w.finish();
  std::vector<std::vector<Array>> inputs;
  inputs.push_back({array_of<std::int32_t>({0, 2, 1})});
  inputs.push_back({array_of<std::int32_t>({0, 0, 0})});
  const RunResult result = run(program, v6e(), inputs, {});
  ASSERT_FALSE(result.fault) << fault_text(result);
  EXPECT_EQ(result.printed,
            (std::vector<std::string>{"device 0: 1 0 0", "device 0: 1 0 1", "device 0: 1 1 1",
                                      "device 0: 2 0 0", "device 0: 2 0 1"}));
}

}  // namespace
}  // namespace cmm::tpu
