#include "generator.hpp"

namespace cmm::cli {
namespace {

// The finaliser of splitmix64: each output bit depends on every input bit.
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;

std::uint64_t matrix_key(const GeneratedMatrix& matrix) {
  return mix(mix(matrix.seed + kGolden) + static_cast<std::uint64_t>(matrix.id) * kGolden);
}
std::uint64_t row_key(std::uint64_t key, std::int64_t row) {
  return mix(key + static_cast<std::uint64_t>(row) * kGolden);
}
float value(std::uint64_t key_of_row, std::int64_t col) {
  const std::uint64_t bits = mix(key_of_row + static_cast<std::uint64_t>(col) * kGolden);
  return static_cast<float>(static_cast<std::int32_t>(bits >> 40) - (1 << 23)) * 0x1p-23f;
}

void assign(float& to, float from) { to = from; }
void assign(BFloat16& to, float from) { to = to_bf16(from); }
void assign(Float16& to, float from) { to = to_f16(from); }

template <class T>
void fill(const GeneratedMatrix& matrix, BlockOrigin origin, const MatrixRef& block) {
  const std::uint64_t key = matrix_key(matrix);
  for (std::int64_t i = 0; i < block.rows; ++i) {
    const std::uint64_t row = row_key(key, origin.first_row + i);
    T* out = static_cast<T*>(block.data) + i * block.row_stride;
    for (std::int64_t j = 0; j < block.cols; ++j) assign(out[j], value(row, origin.first_col + j));
  }
}

template <class T>
void fill_transposed(const GeneratedMatrix& matrix, BlockOrigin origin, const MatrixRef& stored) {
  const std::uint64_t key = matrix_key(matrix);
  for (std::int64_t j = 0; j < stored.cols; ++j) {
    const std::uint64_t row = row_key(key, origin.first_row + j);
    T* out = static_cast<T*>(stored.data) + j;
    for (std::int64_t i = 0; i < stored.rows; ++i) {
      assign(out[i * stored.row_stride], value(row, origin.first_col + i));
    }
  }
}

template <class T>
void fill_widened(const GeneratedMatrix& matrix, BlockOrigin origin, const MatrixView<float>& out) {
  const std::uint64_t key = matrix_key(matrix);
  for (std::int64_t i = 0; i < out.rows; ++i) {
    const std::uint64_t row = row_key(key, origin.first_row + i);
    for (std::int64_t j = 0; j < out.cols; ++j) {
      T rounded;
      assign(rounded, value(row, origin.first_col + j));
      out.data[i * out.row_stride + j] = to_float(rounded);
    }
  }
}

}  // namespace

void generate_block(const GeneratedMatrix& matrix, BlockOrigin origin, const MatrixRef& block) {
  switch (block.dtype) {
    case DType::kF32:
      return fill<float>(matrix, origin, block);
    case DType::kBF16:
      return fill<BFloat16>(matrix, origin, block);
    case DType::kF16:
      return fill<Float16>(matrix, origin, block);
  }
}

void generate_transposed(const GeneratedMatrix& matrix, BlockOrigin origin,
                         const MatrixRef& stored) {
  switch (stored.dtype) {
    case DType::kF32:
      return fill_transposed<float>(matrix, origin, stored);
    case DType::kBF16:
      return fill_transposed<BFloat16>(matrix, origin, stored);
    case DType::kF16:
      return fill_transposed<Float16>(matrix, origin, stored);
  }
}

void generate_widened(const GeneratedMatrix& matrix, BlockOrigin origin, DType dtype,
                      const MatrixView<float>& out) {
  switch (dtype) {
    case DType::kF32:
      return fill_widened<float>(matrix, origin, out);
    case DType::kBF16:
      return fill_widened<BFloat16>(matrix, origin, out);
    case DType::kF16:
      return fill_widened<Float16>(matrix, origin, out);
  }
}

}  // namespace cmm::cli
