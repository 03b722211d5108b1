#include "tpu/emit/block_writer.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"
#include "tpu/scalars.hpp"

namespace cmm::tpu::emit {
namespace {

constexpr std::size_t kEntry = 0;
constexpr std::string_view kNoOverflow = "overflowFlags = #arith.overflow<none>";

struct Written {
  std::string name;
  std::string attributes;
};
Written written(ScalarOp op) {
  const auto compare = [](int predicate) {
    return Written{"arith.cmpi", cat("predicate = ", predicate, " : i64")};
  };
  switch (op) {
    case ScalarOp::kAdd:
      return {"arith.addi", std::string(kNoOverflow)};
    case ScalarOp::kSub:
      return {"arith.subi", std::string(kNoOverflow)};
    case ScalarOp::kMul:
      return {"arith.muli", std::string(kNoOverflow)};
    case ScalarOp::kDiv:
      return {"arith.divsi", {}};
    case ScalarOp::kRem:
      return {"arith.remsi", {}};
    case ScalarOp::kEq:
      return compare(0);
    case ScalarOp::kNe:
      return compare(1);
    case ScalarOp::kLt:
      return compare(2);
    case ScalarOp::kLe:
      return compare(3);
    case ScalarOp::kGt:
      return compare(4);
    case ScalarOp::kGe:
      return compare(5);
    case ScalarOp::kAnd:
      return {"arith.andi", {}};
    default:
      CMM_DCHECK(op == ScalarOp::kOr);
      return {"arith.ori", {}};
  }
}

}  // namespace

BlockWriter::BlockWriter(const Program& program) : program_(program), blocks_(2) {
  const auto is_invariant = [this](Scalar scalar) {
    return !scalar.known() || invariant_[static_cast<std::size_t>(scalar.id)];
  };
  for (const ScalarNode& node : program.scalars) {
    const bool leaf = node.op == ScalarOp::kConstant || node.op == ScalarOp::kDeviceId;
    const bool operation = is_operation(node.op) && is_invariant(node.a) && is_invariant(node.b) &&
                           is_invariant(node.c);
    invariant_.push_back(leaf || operation);
  }
}

Value BlockWriter::new_value(std::string type) {
  types_.push_back(std::move(type));
  return {static_cast<int>(types_.size()) - 1};
}

Value BlockWriter::argument(std::string type) { return new_value(std::move(type)); }

void BlockWriter::set_variable(Scalar variable, Value value) {
  blocks_[writing_].known[{As::kInteger, variable.id}] = value;
}
void BlockWriter::set_grid_index(int dimension, Value value) {
  CMM_DCHECK(dimension == static_cast<int>(grid_.size()));
  (void)dimension;
  grid_.push_back(value);
}

Value BlockWriter::integer(Scalar s) { return scalar(As::kInteger, s); }
Value BlockWriter::truth(Scalar s) { return scalar(As::kTruth, s); }
Value BlockWriter::index(Scalar s) { return scalar(As::kIndex, s); }

Value BlockWriter::barrier() {
  auto& known = blocks_[kEntry].known;
  const std::pair key{As::kBarrier, 0};
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const std::size_t block = std::exchange(writing_, kEntry);
  const Value value =
      op("tpu.sem_barrier", {}, {}, "memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>");
  writing_ = block;
  return known[key] = value;
}

// The value that stands for the scalar wherever the open block can see it.
Value BlockWriter::scalar(As as, Scalar scalar) {
  CMM_DCHECK(scalar.known());
  const std::pair key{as, scalar.id};
  for (std::size_t i = writing_ + 1; i-- > 0;) {
    const auto found = blocks_[i].known.find(key);
    if (found != blocks_[i].known.end()) return found->second;
  }
  const bool to_entry = invariant_[static_cast<std::size_t>(scalar.id)];
  const std::size_t block = std::exchange(writing_, to_entry ? kEntry : writing_);
  const int note = std::exchange(note_, to_entry ? -1 : note_);
  const Value value = write_scalar(as, scalar);
  blocks_[writing_].known[key] = value;
  writing_ = block;
  note_ = note;
  return value;
}

bool BlockWriter::is_truth(Scalar scalar) const {
  const ScalarNode& made = node(scalar);
  if (made.op == ScalarOp::kSelect) return is_truth(made.b) || is_truth(made.c);
  return yields_truth(made.op);
}

Value BlockWriter::write_scalar(As as, Scalar scalar) {
  const ScalarNode& made = node(scalar);
  if (made.op == ScalarOp::kConstant) {
    switch (as) {
      case As::kIndex:
        return op("arith.constant", {}, cat("value = ", made.immediate, " : index"), "index");
      case As::kTruth:
        return op("arith.constant", {}, made.immediate != 0 ? "value = true" : "value = false",
                  "i1");
      default:
        return op("arith.constant", {}, cat("value = ", made.immediate, " : i32"), "i32");
    }
  }
  if (as == As::kIndex) return op("arith.index_cast", {integer(scalar)}, {}, "index");
  if (as == As::kInteger && is_truth(scalar)) return op("arith.extui", {truth(scalar)}, {}, "i32");
  if (as == As::kTruth && !is_truth(scalar)) {
    const Value zero = op("arith.constant", {}, "value = 0 : i32", "i32");
    return op("arith.cmpi", {integer(scalar), zero}, "predicate = 1 : i64", "i1");
  }
  return write_operation(made);
}

Value BlockWriter::write_operation(const ScalarNode& node) {
  switch (node.op) {
    case ScalarOp::kDeviceId:
      return op("tpu.device_id", {}, {}, "i32");
    case ScalarOp::kGridIndex:
      return grid_[static_cast<std::size_t>(node.immediate)];
    case ScalarOp::kSelect: {
      const bool truths = is_truth(node.b) || is_truth(node.c);
      const Value condition = truth(node.a);
      const Value a = truths ? truth(node.b) : integer(node.b);
      const Value b = truths ? truth(node.c) : integer(node.c);
      return op("arith.select", {condition, a, b}, {}, truths ? "i1" : "i32");
    }
    default: {
      CMM_DCHECK(is_operation(node.op));
      const bool truths = takes_truths(node.op);
      const Value a = truths ? truth(node.a) : integer(node.a);
      const Value b = truths ? truth(node.b) : integer(node.b);
      Written how = written(node.op);
      return op(std::move(how.name), {a, b}, std::move(how.attributes),
                yields_truth(node.op) ? "i1" : "i32");
    }
  }
}

Value BlockWriter::op(std::string name, std::vector<Value> operands, std::string attributes,
                      std::string result_type) {
  const Value result = new_value(std::move(result_type));
  blocks_[writing_].ops.push_back({.name = std::move(name),
                                   .operands = std::move(operands),
                                   .attributes = std::move(attributes),
                                   .result = result,
                                   .note = note_});
  return result;
}

void BlockWriter::op(std::string name, std::vector<Value> operands, std::string attributes) {
  blocks_[writing_].ops.push_back({.name = std::move(name),
                                   .operands = std::move(operands),
                                   .attributes = std::move(attributes),
                                   .note = note_});
}

void BlockWriter::op(std::string name, std::vector<Value> operands, std::vector<Region> regions) {
  blocks_[writing_].ops.push_back({.name = std::move(name),
                                   .operands = std::move(operands),
                                   .regions = std::move(regions),
                                   .note = note_});
}

void BlockWriter::open_region() {
  CMM_DCHECK(writing_ + 1 == blocks_.size());
  blocks_.emplace_back();
  ++writing_;
}

Region BlockWriter::close_region() {
  CMM_DCHECK(writing_ + 1 == blocks_.size() && writing_ > 1);
  Region region{.ops = std::move(blocks_.back().ops)};
  blocks_.pop_back();
  --writing_;
  return region;
}

std::vector<Op> BlockWriter::take_ops() {
  CMM_DCHECK(writing_ == 1 && blocks_.size() == 2);
  std::vector<Op> ops = std::move(blocks_[kEntry].ops);
  std::move(blocks_[1].ops.begin(), blocks_[1].ops.end(), std::back_inserter(ops));
  return ops;
}

}  // namespace cmm::tpu::emit
