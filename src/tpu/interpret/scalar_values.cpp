#include "tpu/interpret/scalar_values.hpp"

#include <utility>

#include "base/text.hpp"
#include "tpu/interpret/fault.hpp"
#include "tpu/scalars.hpp"

namespace cmm::tpu {

ScalarValues::ScalarValues(const Program& program, int device)
    : program_(program), device_(device), values_(program.scalars.size()) {}

void ScalarValues::set_variable(Scalar variable, std::int64_t value) {
  ++changes_;
  values_[static_cast<std::size_t>(variable.id)].value = value;
}

void ScalarValues::set_grid(std::vector<std::int64_t> grid) {
  ++changes_;
  grid_ = std::move(grid);
}

std::int64_t ScalarValues::get(Scalar scalar) {
  const ScalarNode& node = program_.scalars[static_cast<std::size_t>(scalar.id)];
  Value& value = values_[static_cast<std::size_t>(scalar.id)];
  if (node.op == ScalarOp::kConstant) return node.immediate;
  if (node.op == ScalarOp::kVariable) return value.value;
  if (value.computed != changes_) {
    value.value = compute(node);
    value.computed = changes_;
  }
  return value.value;
}

std::int64_t ScalarValues::compute(const ScalarNode& node) {
  switch (node.op) {
    case ScalarOp::kDeviceId:
      return device_;
    case ScalarOp::kGridIndex:
      return grid_[static_cast<std::size_t>(node.immediate)];
    case ScalarOp::kSelect:
      return get(node.a) != 0 ? get(node.b) : get(node.c);
    default:
      break;
  }
  const std::int64_t a = get(node.a), b = get(node.b);
  if (const auto result = apply(node.op, a, b)) return *result;
  throw FaultFound{Fault::Kind::kInvalid, cat("a scalar is not defined: of ", a, " and ", b,
                                              ", a division by zero or a result beyond 32 bits")};
}

}  // namespace cmm::tpu
