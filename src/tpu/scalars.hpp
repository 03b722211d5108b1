// What scalar operations yield: carried out by the builder on constants, by the virtual devices on
// the rest.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "tpu/program.hpp"

namespace cmm::tpu {

constexpr bool is_operation(ScalarOp op) { return op >= ScalarOp::kAdd; }
constexpr bool yields_truth(ScalarOp op) { return op >= ScalarOp::kEq && op <= ScalarOp::kOr; }
constexpr bool takes_truths(ScalarOp op) { return op == ScalarOp::kAnd || op == ScalarOp::kOr; }
constexpr bool fits_32_bits(std::int64_t value) {
  return value >= std::numeric_limits<std::int32_t>::min() &&
         value <= std::numeric_limits<std::int32_t>::max();
}

// Of two operands that fit 32 bits, truth values being 0 and 1; not for kSelect. Nothing where the
// result is not defined: a division by zero, or a result that 32 bits do not hold.
constexpr std::optional<std::int64_t> apply(ScalarOp op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (op) {
    case ScalarOp::kAdd:
      result = a + b;
      break;
    case ScalarOp::kSub:
      result = a - b;
      break;
    case ScalarOp::kMul:
      result = a * b;
      break;
    case ScalarOp::kDiv:
      if (b == 0) return std::nullopt;
      result = a / b;
      break;
    case ScalarOp::kRem:
      if (b == 0) return std::nullopt;
      result = a % b;
      break;
    case ScalarOp::kEq:
      return a == b;
    case ScalarOp::kNe:
      return a != b;
    case ScalarOp::kLt:
      return a < b;
    case ScalarOp::kLe:
      return a <= b;
    case ScalarOp::kGt:
      return a > b;
    case ScalarOp::kGe:
      return a >= b;
    case ScalarOp::kAnd:
      return a != 0 && b != 0;
    case ScalarOp::kOr:
      return a != 0 || b != 0;
    default:
      return std::nullopt;
  }
  if (!fits_32_bits(result)) return std::nullopt;
  return result;
}

}  // namespace cmm::tpu
