#include <algorithm>
#include <type_traits>

#include "tpu/numbers.hpp"
#include "tpu/operands.hpp"
#include "tpu/parts.hpp"

namespace cmm::tpu {
namespace {

// Sums of floats are kept in float, those of integers in uint32, which wraps as int32 does on a
// TPU.
template <class Sum>
std::vector<Sum> numbers(const Array& matrix, Element element) {
  const auto bytes = static_cast<std::size_t>(element_bytes(element));
  std::vector<Sum> values(matrix.size() / bytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::byte* at = matrix.data() + i * bytes;
    if constexpr (std::is_same_v<Sum, float>) {
      values[i] = load_float(element, at);
    } else {
      values[i] = static_cast<Sum>(load_integer(element, at));
    }
  }
  return values;
}

template <class Sum>
std::vector<Sum> transposed(const std::vector<Sum>& matrix, std::int64_t rows, std::int64_t cols) {
  std::vector<Sum> result;
  result.reserve(matrix.size());
  for (std::int64_t j = 0; j < cols; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) {
      result.push_back(matrix[static_cast<std::size_t>(i * cols + j)]);
    }
  }
  return result;
}

template <class Sum>
Array product(const Kernel& kernel, const Array& x_array, const Array& y_array, std::int64_t n) {
  const std::int64_t k = kernel.asked.k;
  const std::vector<Sum> x = numbers<Sum>(x_array, kernel.element);
  std::vector<Sum> y = numbers<Sum>(y_array, kernel.element);
  if (kernel.rhs_transposed) y = transposed(y, n, k);
  Array out(matrix_bytes({kernel.asked.m, n}, kernel.out_element));
  std::byte* at = out.data();
  std::vector<Sum> row(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < kernel.asked.m; ++i) {
    std::fill(row.begin(), row.end(), Sum{0});
    for (std::int64_t l = 0; l < k; ++l) {
      const Sum factor = x[static_cast<std::size_t>(i * k + l)];
      const Sum* y_row = y.data() + l * n;
      for (std::int64_t j = 0; j < n; ++j) row[static_cast<std::size_t>(j)] += factor * y_row[j];
    }
    for (const Sum sum : row) {
      if constexpr (std::is_same_v<Sum, float>) {
        store_float(kernel.out_element, sum, at);
      } else {
        store_integer(kernel.out_element, static_cast<std::int32_t>(sum), at);
      }
      at += element_bytes(kernel.out_element);
    }
  }
  return out;
}

}  // namespace

Results plain_results(const Kernel& kernel, const Operands& operands) {
  Results results;
  for (std::size_t i = 0; i < operands.y.size(); ++i) {
    const std::int64_t n = kernel.asked.cols[i] * kernel.ring.size();
    results.out.push_back(is_integer(kernel.element)
                              ? product<std::uint32_t>(kernel, operands.x, operands.y[i], n)
                              : product<float>(kernel, operands.x, operands.y[i], n));
  }
  if (kernel.gathered) results.gathered = operands.x;
  return results;
}

}  // namespace cmm::tpu
