// Operands on ragged extents, meshes and all elements: a model of the devices, which knows only
// what run() is given, must come to the results that are expected, and to no others.
#include "tpu/operands.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tpu/numbers.hpp"

namespace cmm::tpu {
namespace {

struct Case {
  Ring ring;
  Extents asked, padded;
  std::int64_t rows_asked, shard_rows;
  Element element, out_element;
  bool transposed, gathered;
};

Kernel kernel_of(const Case& of) {
  Kernel kernel;
  kernel.ring = of.ring;
  kernel.asked = of.asked;
  kernel.padded = of.padded;
  kernel.rows_asked = of.rows_asked;
  kernel.shard_rows = of.shard_rows;
  kernel.element = of.element;
  kernel.out_element = of.out_element;
  kernel.rhs_transposed = of.transposed;
  kernel.gathered = of.gathered;
  return kernel;
}

double value_at(const Array& matrix, Element element, std::int64_t index) {
  const std::byte* at = matrix.data() + index * element_bytes(element);
  if (is_integer(element)) return load_integer(element, at);
  return load_float(element, at);
}

// What the devices put out: all of the ring's x times their y, on whole tiles.
std::vector<std::vector<Array>> outputs_of(const Kernel& kernel,
                                           const std::vector<std::vector<Array>>& inputs) {
  const std::int64_t k = kernel.padded.k, num_rows = kernel.ring.size() * kernel.shard_rows;
  std::vector<std::vector<Array>> outputs;
  for (int device = 0; device < kernel.ring.num_devices(); ++device) {
    Array x;
    for (int other = 0; other < kernel.ring.num_devices(); ++other) {
      // Increasing numbers are increasing positions on a ring.
      if (place_on_ring(kernel.ring, other).ring != place_on_ring(kernel.ring, device).ring)
        continue;
      x.insert(x.end(), inputs[other][0].begin(), inputs[other][0].end());
    }
    std::vector<Array>& of_device = outputs.emplace_back();
    for (std::size_t side = 0; side < kernel.padded.cols.size(); ++side) {
      const std::int64_t cols = kernel.padded.cols[side];
      Array out(static_cast<std::size_t>(num_rows * cols * element_bytes(kernel.out_element)));
      for (std::int64_t at = 0; at < num_rows * cols; ++at) {
        const std::int64_t i = at / cols, j = at % cols;
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          sum += value_at(x, kernel.element, i * k + l) *
                 value_at(inputs[device][1 + side], kernel.element,
                          kernel.rhs_transposed ? j * k + l : l * cols + j);
        }
        std::byte* to = out.data() + at * element_bytes(kernel.out_element);
        if (is_integer(kernel.out_element)) {
          store_integer(kernel.out_element, static_cast<std::int32_t>(sum), to);
        } else {
          store_float(kernel.out_element, static_cast<float>(sum), to);
        }
      }
      of_device.push_back(std::move(out));
    }
    if (kernel.gathered) of_device.push_back(x);
  }
  return outputs;
}

class OperandsTest : public testing::TestWithParam<Case> {};

TEST_P(OperandsTest, GiveTheDevicesWhatTheResultsAreMadeOf) {
  const Kernel kernel = kernel_of(GetParam());
  const Expectation expectation(kernel, 7);
  const auto inputs = expectation.inputs(kernel);
  ASSERT_EQ(inputs.size(), static_cast<std::size_t>(kernel.ring.num_devices()));
  const auto outputs = outputs_of(kernel, inputs);
  const auto fault = expectation.compare(kernel, outputs);
  EXPECT_FALSE(fault) << fault->text;
}

TEST_P(OperandsTest, ComeBackTogetherAsTheResultsOfEachRing) {
  const Kernel kernel = kernel_of(GetParam());
  std::vector<Operands> rings;
  for (int ring = 0; ring < num_rings(kernel.ring); ++ring) {
    rings.push_back(make_operands(kernel, static_cast<std::uint64_t>(ring)));
  }
  const auto results = put_together(kernel, outputs_of(kernel, lay_out(kernel, rings)));
  ASSERT_EQ(results.size(), rings.size());
  for (std::size_t ring = 0; ring < rings.size(); ++ring) {
    const Results expected = plain_results(kernel, rings[ring]);
    EXPECT_EQ(results[ring].out, expected.out) << "ring " << ring;
    EXPECT_EQ(results[ring].gathered, kernel.gathered ? rings[ring].x : Array{});
  }
}

// Of each output, each element: one that counts is missed, and the padding is not looked at.
TEST_P(OperandsTest, SeeEachWrongElementAndNothingElse) {
  const Kernel kernel = kernel_of(GetParam());
  const Expectation expectation(kernel, 7);
  auto outputs = outputs_of(kernel, expectation.inputs(kernel));
  std::int64_t num_seen = 0;
  for (int device = 0; device < kernel.ring.num_devices(); ++device) {
    for (std::size_t output = 0; output < outputs[device].size(); ++output) {
      const bool gathered = output == kernel.asked.cols.size();
      const Element element = gathered ? kernel.element : kernel.out_element;
      Array& matrix = outputs[device][output];
      for (std::size_t at = 0; at < matrix.size();
           at += static_cast<std::size_t>(element_bytes(element))) {
        matrix[at] ^= std::byte{1};
        if (const auto fault = expectation.compare(kernel, outputs)) {
          ++num_seen;
          EXPECT_EQ(fault->kind, Fault::Kind::kWrongElement);
          EXPECT_EQ(fault->device, device);
        }
        matrix[at] ^= std::byte{1};
      }
    }
  }
  std::int64_t num_columns = kernel.gathered ? kernel.asked.k : 0;
  for (const std::int64_t cols : kernel.asked.cols) num_columns += cols;
  EXPECT_EQ(num_seen, kernel.asked.m * num_columns * kernel.ring.num_devices());
}

// As one stands in bf16: sums up to 2^24 in steps of 1 are exact in f32, whatever their order.
TEST_P(OperandsTest, AreSmallIntegersOfMoreThanOneValue) {
  const Kernel kernel = kernel_of(GetParam());
  const Operands operands = make_operands(kernel, 3);
  double largest = 0;
  for (const Array* matrix : {&operands.x, &operands.y[0]}) {
    for (std::size_t i = 0; i * element_bytes(kernel.element) < matrix->size(); ++i) {
      const double value = value_at(*matrix, kernel.element, static_cast<std::int64_t>(i));
      ASSERT_EQ(value, std::floor(value));
      largest = std::max(largest, std::abs(value));
    }
  }
  EXPECT_GE(largest, 1);
  EXPECT_LE(largest * largest * static_cast<double>(kernel.asked.k), 0x1p24);
  EXPECT_NE(make_operands(kernel, 4).x, operands.x);
  EXPECT_EQ(make_operands(kernel, 3).x, operands.x);
}

INSTANTIATE_TEST_SUITE_P(
    Extents, OperandsTest,
    testing::Values(
        Case{{{2}, 0},
             {16, 8, {4}},
             {16, 8, {4}},
             8,
             8,
             Element::kBF16,
             Element::kBF16,
             false,
             false},
        // The last device holds no row at all.
        Case{{{4}, 0},
             {9, 7, {3, 5}},
             {32, 16, {8, 8}},
             3,
             8,
             Element::kF32,
             Element::kF32,
             true,
             true},
        Case{
            {{2, 3}, 1}, {7, 5, {3}}, {12, 8, {4}}, 3, 4, Element::kS8, Element::kS32, false, true},
        Case{{{3, 2}, 0}, {7, 5, {3}}, {12, 8, {4}}, 3, 4, Element::kS8, Element::kS8, true, true},
        Case{{{2, 2, 2}, 1},
             {5, 6, {2, 3}},
             {8, 8, {4, 4}},
             3,
             4,
             Element::kF8E4M3,
             Element::kF8E4M3,
             false,
             false},
        Case{
            {{1}, 0}, {3, 4, {2}}, {8, 8, {8}}, 3, 8, Element::kBF16, Element::kF32, false, true}));

TEST(PlaceOnRing, CutsAMeshAlongItsAxis) {
  const Ring ring{{2, 3, 2}, 1};
  EXPECT_EQ(num_rings(ring), 4);
  for (int device = 0; device < 12; ++device) {
    const auto [number, index] = place_on_ring(ring, device);
    EXPECT_EQ(index, device / 2 % 3);
    EXPECT_EQ(number, device / 6 * 2 + device % 2);
  }
}

TEST(Compare, NamesTheElementAndBothValues) {
  const Kernel kernel = kernel_of(
      {{{2}, 0}, {4, 4, {3}}, {16, 8, {4}}, 2, 8, Element::kF32, Element::kF32, false, false});
  const Expectation expectation(kernel, 1);
  auto outputs = outputs_of(kernel, expectation.inputs(kernel));
  // Device 1 has columns 3 .. 5; its row 8 is the first of device 1's rows, row 2 of the result.
  std::byte* at = outputs[1][0].data() + (8 * 4 + 1) * 4;
  const float right = load_float(Element::kF32, at);
  store_float(Element::kF32, 1000.0f, at);
  const auto fault = expectation.compare(kernel, outputs);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->text,
            "out[2, 4] is 1000 on device 1 and must be " + std::to_string(static_cast<int>(right)));
}

}  // namespace
}  // namespace cmm::tpu
