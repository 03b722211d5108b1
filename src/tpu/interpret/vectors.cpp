#include "tpu/interpret/vectors.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "tpu/interpret/elements.hpp"
#include "tpu/shapes.hpp"

namespace cmm::tpu {
namespace {

// In squares that lie in few cache lines on both sides.
template <class T>
std::vector<T> transposed(const std::vector<T>& from, std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t kSquare = 16;
  std::vector<T> to(from.size());
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
template <int kSteps, class T>
void add_products(T* sums, const T* left, const T* right, std::int64_t stride, std::int64_t cols) {
  std::array<T, kSteps> factors;  // else they are loaded for each column: sums might overlap left
  std::copy_n(left, kSteps, factors.begin());
#pragma GCC ivdep
  for (std::int64_t j = 0; j < cols; ++j) {
    T sum = sums[j];
    for (int step = 0; step < kSteps; ++step) sum += factors[step] * right[step * stride + j];
    sums[j] = sum;
  }
}

// result [rows, cols] += lhs [rows, inner] · rhs [inner, cols]. Columns are taken in blocks, so
// that kSteps rows of rhs and a row of sums stay in a first-level cache of 32 KiB.
template <class T>
void multiply(const MatmulShape& shape, const T* lhs, const T* rhs, T* result) {
  constexpr std::int64_t kSteps = 8, kCols = 512;
  for (std::int64_t first = 0; first < shape.cols; first += kCols) {
    const std::int64_t cols = std::min(kCols, shape.cols - first);
    for (std::int64_t i = 0; i < shape.rows; ++i) {
      T* const sums = result + i * shape.cols + first;
      const T* const left = lhs + i * shape.inner;
      const T* const right = rhs + first;
      std::int64_t k = 0;
      for (; k + kSteps <= shape.inner; k += kSteps) {
        add_products<kSteps>(sums, left + k, right + k * shape.cols, shape.cols, cols);
      }
      for (; k < shape.inner; ++k) {
        add_products<1>(sums, left + k, right + k * shape.cols, shape.cols, cols);
      }
    }
  }
}

template <class T>
void multiply(const MatmulShape& shape, const std::vector<T>& lhs, const std::vector<T>& rhs,
              std::vector<T>& result) {
  result.assign(static_cast<std::size_t>(shape.rows * shape.cols), T{});
  if (!shape.rhs_transposed) return multiply(shape, lhs.data(), rhs.data(), result.data());
  const std::vector<T> turned = transposed(rhs, shape.cols, shape.inner);
  multiply(shape, lhs.data(), turned.data(), result.data());
}

std::vector<float> as_bf16(const std::vector<float>& from) {
  std::vector<float> to(from.size());
  std::transform(from.begin(), from.end(), to.begin(),
                 [](float value) { return round_to(Element::kBF16, value); });
  return to;
}

// Sums of int32 wrap; of signed numbers that would be undefined.
std::vector<std::uint32_t> as_unsigned(const std::vector<std::int32_t>& from) {
  return {from.begin(), from.end()};
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
  if (is_integer(operands)) {
    std::vector<std::uint32_t> sums;
    multiply(shape, as_unsigned(lhs.integers), as_unsigned(rhs.integers), sums);
    result.integers.assign(sums.begin(), sums.end());
  } else if (operands == Element::kF32) {
    multiply(shape, as_bf16(lhs.floats), as_bf16(rhs.floats), result.floats);
  } else {
    multiply(shape, lhs.floats, rhs.floats, result.floats);
  }
}

}  // namespace cmm::tpu
