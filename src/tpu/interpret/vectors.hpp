// Vectors of virtual devices, and the arithmetic on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tpu/interpret/boxes.hpp"
#include "tpu/program.hpp"

namespace cmm::tpu {

// A vector's elements in row-major order: `floats` for float types, which hold only numbers that
// the type has; `integers` for the others.
struct VectorValue {
  std::vector<float> floats;
  std::vector<std::int32_t> integers;
};

void load(VectorValue& result, Element element, const BoxRuns& runs, const std::byte* memory);
void store(const VectorValue& value, Element element, const BoxRuns& runs, std::byte* memory);
void zero(VectorValue& result, const VectorType& type);
void add(VectorValue& result, const VectorType& type, const VectorValue& a, const VectorValue& b);
// Between floats, or between integers.
void cast(VectorValue& result, Element to, const VectorValue& from);

struct MatmulShape {
  std::int64_t rows = 0;  // of lhs [rows, inner] and the result [rows, cols]
  std::int64_t inner = 0;
  std::int64_t cols = 0;
  bool rhs_transposed = false;  // rhs is [cols, inner], not [inner, cols]
};
// f32 operands are rounded to bf16, as the MXU does unless it is asked for more. Each sum starts
// at 0 and adds the products in ascending order along `inner`, rounding each sum to f32; products
// of bf16 and fp8 numbers are exact unless they leave f32's range. int8: exact, modulo 2^32.
void matmul(VectorValue& result, const MatmulShape& shape, Element operands, const VectorValue& lhs,
            const VectorValue& rhs);

}  // namespace cmm::tpu
