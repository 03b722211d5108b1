#include "tpu/check_scalars.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tpu/scalars.hpp"

namespace cmm::tpu {
namespace {

class ScalarChecker {
 public:
  explicit ScalarChecker(const Program& program) : program_(program) {}

  ScalarFacts check() {
    for (const ScalarNode& node : program_.scalars) {
      variables_.clear();
      const ScalarType type = type_of(node);
      if (node.op == ScalarOp::kVariable) variables_ = {next()};
      facts_.types.push_back(type);
      facts_.variables.push_back(std::move(variables_));
    }
    return std::move(facts_);
  }

 private:
  int next() const { return static_cast<int>(facts_.types.size()); }

  ScalarType type_of(Scalar operand) const {
    if (operand.id < 0 || operand.id >= next()) {
      found("scalar ", next(), " is made of scalar ", operand.id, ", which is not made before it");
    }
    return facts_.types[static_cast<std::size_t>(operand.id)];
  }

  void operand(Scalar scalar, bool truth) {
    const ScalarType type = type_of(scalar);
    if (type != ScalarType::kBoth && (type == ScalarType::kTruth) != truth) {
      found("scalar ", next(), " needs ", truth ? "a truth value" : "an integer", ", and scalar ",
            scalar.id, " is none");
    }
    const std::vector<int>& more = facts_.variables[static_cast<std::size_t>(scalar.id)];
    std::vector<int> all;
    std::set_union(variables_.begin(), variables_.end(), more.begin(), more.end(),
                   std::back_inserter(all));
    variables_ = std::move(all);
  }

  ScalarType type_of(const ScalarNode& node) {
    switch (node.op) {
      case ScalarOp::kConstant:
        if (!fits_32_bits(node.immediate)) found("constant ", node.immediate, " beyond 32 bits");
        return node.immediate == 0 || node.immediate == 1 ? ScalarType::kBoth
                                                          : ScalarType::kInteger;
      case ScalarOp::kGridIndex:
        if (node.immediate < 0 ||
            node.immediate >= static_cast<std::int64_t>(program_.grid.size())) {
          found("index ", node.immediate, " of a grid of ", program_.grid.size(), " dimensions");
        }
        return ScalarType::kInteger;
      case ScalarOp::kDeviceId:
      case ScalarOp::kVariable:
        return ScalarType::kInteger;
      case ScalarOp::kSelect: {
        operand(node.a, true);
        const ScalarType first = type_of(node.b);
        const ScalarType type = first == ScalarType::kBoth ? type_of(node.c) : first;
        operand(node.b, type == ScalarType::kTruth);
        operand(node.c, type == ScalarType::kTruth);
        return type;
      }
      default:
        operand(node.a, takes_truths(node.op));
        operand(node.b, takes_truths(node.op));
        return yields_truth(node.op) ? ScalarType::kTruth : ScalarType::kInteger;
    }
  }

  const Program& program_;
  ScalarFacts facts_;
  std::vector<int> variables_;  // of the scalar at hand
};

}  // namespace

ScalarFacts check_scalars(const Program& program) { return ScalarChecker(program).check(); }

}  // namespace cmm::tpu
