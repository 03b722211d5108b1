#include "tpu/interpret/vectors.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/integers.hpp"
#include "tpu/interpret/elements.hpp"
#include "tpu/shapes.hpp"

namespace cmm::tpu {
namespace {

// In squares that lie in few cache lines on both sides.
std::vector<float> transposed(const std::vector<float>& from, std::int64_t rows,
                              std::int64_t cols) {
  constexpr std::int64_t kSquare = 16;
  std::vector<float> to(from.size());
  for (std::int64_t row = 0; row < rows; row += kSquare) {
    for (std::int64_t col = 0; col < cols; col += kSquare) {
      for (std::int64_t i = row; i < std::min(row + kSquare, rows); ++i) {
        for (std::int64_t j = col; j < std::min(col + kSquare, cols); ++j) {
          to[static_cast<std::size_t>(j * rows + i)] = from[static_cast<std::size_t>(i * cols + j)];
        }
      }
    }
  }
  return to;
}

// sums [cols] += left [kSteps] · right [kSteps, cols], where a row of right is `stride` long.
// Columns are vector lanes; a sum is loaded and stored once for kSteps products.
template <int kSteps>
void add_products(float* sums, const float* left, const float* right, std::int64_t stride,
                  std::int64_t cols) {
  // A copy, or they are loaded for each column: sums might overlap left.
  std::array<float, kSteps> factors;
  std::copy_n(left, kSteps, factors.begin());
  for (std::int64_t j = 0; j < cols; ++j) {
    float sum = sums[j];
    for (int step = 0; step < kSteps; ++step) sum += factors[step] * right[step * stride + j];
    sums[j] = sum;
  }
}

// result [rows, cols] += lhs [rows, inner] · rhs [inner, cols], of the part of inner. Columns are
// taken in blocks, so that kSteps rows of rhs and a row of sums stay in a first-level cache of 32
// KiB.
void add_product(const MatmulShape& shape, Range part, const float* lhs, const float* rhs,
                 float* result) {
  constexpr std::int64_t kSteps = 8, kCols = 512;
  for (std::int64_t first = 0; first < shape.cols; first += kCols) {
    const std::int64_t cols = std::min(kCols, shape.cols - first);
    for (std::int64_t i = 0; i < shape.rows; ++i) {
      float* const sums = result + i * shape.cols + first;
      const float* const left = lhs + i * shape.inner;
      const float* const right = rhs + first;
      std::int64_t k = part.begin;
      for (; k + kSteps <= part.end; k += kSteps) {
        add_products<kSteps>(sums, left + k, right + k * shape.cols, shape.cols, cols);
      }
      for (; k < part.end; ++k) {
        add_products<1>(sums, left + k, right + k * shape.cols, shape.cols, cols);
      }
    }
  }
}

// The operand as floats, as the MXU takes them: of f32 those of bf16. It lies in `room`, unless it
// is so already.
const std::vector<float>& as_operand(const VectorValue& value, Element element,
                                     std::vector<float>& room) {
  if (is_integer(element)) {
    room.assign(value.integers.begin(), value.integers.end());
    return room;
  }
  if (element != Element::kF32) return value.floats;
  room.resize(value.floats.size());
  std::transform(value.floats.begin(), value.floats.end(), room.begin(),
                 [](float each) { return round_to(Element::kBF16, each); });
  return room;
}

void multiply_floats(const MatmulShape& shape, const std::vector<float>& lhs,
                     const std::vector<float>& rhs, std::vector<float>& result) {
  result.assign(static_cast<std::size_t>(shape.rows * shape.cols), 0.0f);
  add_product(shape, {0, shape.inner}, lhs.data(), rhs.data(), result.data());
}

// f32 holds all sums of 1024 products of int8 exactly, and vector instructions that every processor
// has multiply floats, but not 32-bit integers.
void multiply_integers(const MatmulShape& shape, const std::vector<float>& lhs,
                       const std::vector<float>& rhs, std::vector<std::int32_t>& result) {
  constexpr std::int64_t kExact = 1024;
  result.assign(static_cast<std::size_t>(shape.rows * shape.cols), 0);
  std::vector<float> sums;
  for (std::int64_t k = 0; k < shape.inner; k += kExact) {
    sums.assign(result.size(), 0.0f);
    add_product(shape, {k, std::min(k + kExact, shape.inner)}, lhs.data(), rhs.data(), sums.data());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto sum = static_cast<std::uint32_t>(static_cast<std::int32_t>(sums[i]));
      result[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(result[i]) + sum);
    }
  }
}

}  // namespace

void load(VectorValue& result, Element element, const BoxRuns& runs, const std::byte* memory) {
  const std::int64_t count = runs.num_elements(), bytes = element_bytes(element);
  if (!is_integer(element)) {
    result.floats.resize(static_cast<std::size_t>(count));
    runs.each_run(0, count, [&](std::int64_t to, std::int64_t from, std::int64_t num) {
      load_floats(element, memory + from * bytes,
                  {result.floats.data() + to, static_cast<std::size_t>(num)});
    });
  } else {
    result.integers.resize(static_cast<std::size_t>(count));
    runs.each_run(0, count, [&](std::int64_t to, std::int64_t from, std::int64_t num) {
      load_integers(element, memory + from * bytes,
                    {result.integers.data() + to, static_cast<std::size_t>(num)});
    });
  }
}

void store(const VectorValue& value, Element element, const BoxRuns& runs, std::byte* memory) {
  const std::int64_t count = runs.num_elements(), bytes = element_bytes(element);
  runs.each_run(0, count, [&](std::int64_t from, std::int64_t to, std::int64_t num) {
    const auto size = static_cast<std::size_t>(num);
    if (!is_integer(element)) {
      store_floats(element, {value.floats.data() + from, size}, memory + to * bytes);
    } else {
      store_integers(element, {value.integers.data() + from, size}, memory + to * bytes);
    }
  });
}

void zero(VectorValue& result, const VectorType& type) {
  const auto count = static_cast<std::size_t>(num_elements(type.shape));
  if (!is_integer(type.element)) {
    result.floats.assign(count, 0.0f);
  } else {
    result.integers.assign(count, 0);
  }
}

void add(VectorValue& result, const VectorType& type, const VectorValue& a, const VectorValue& b) {
  result.floats.resize(a.floats.size());
  for (std::size_t i = 0; i < a.floats.size(); ++i) {
    result.floats[i] = a.floats[i] + b.floats[i];
  }
  if (!is_integer(type.element) && type.element != Element::kF32) {
    for (float& value : result.floats) value = round_to(type.element, value);
  }
  result.integers.resize(a.integers.size());
  for (std::size_t i = 0; i < a.integers.size(); ++i) {
    const auto sum =
        static_cast<std::uint32_t>(a.integers[i]) + static_cast<std::uint32_t>(b.integers[i]);
    result.integers[i] = type.element == Element::kS8 ? static_cast<std::int8_t>(sum)
                                                      : static_cast<std::int32_t>(sum);
  }
}

void cast(VectorValue& result, Element to, const VectorValue& from) {
  result.floats.resize(from.floats.size());
  std::transform(from.floats.begin(), from.floats.end(), result.floats.begin(),
                 [to](float value) { return round_to(to, value); });
  result.integers.resize(from.integers.size());
  std::transform(from.integers.begin(), from.integers.end(), result.integers.begin(),
                 [to](std::int32_t value) {
                   return to == Element::kS8 ? static_cast<std::int8_t>(value) : value;
                 });
}

void matmul(VectorValue& result, const MatmulShape& shape, Element operands, const VectorValue& lhs,
            const VectorValue& rhs) {
  std::vector<float> left_room, right_room, turned;
  const std::vector<float>& left = as_operand(lhs, operands, left_room);
  const std::vector<float>* right = &as_operand(rhs, operands, right_room);
  if (shape.rhs_transposed) {
    turned = transposed(*right, shape.cols, shape.inner);
    right = &turned;
  }
  if (is_integer(operands)) {
    multiply_integers(shape, left, *right, result.integers);
  } else {
    multiply_floats(shape, left, *right, result.floats);
  }
}

}  // namespace cmm::tpu
