// Writes the operations of a Mosaic function, block by block, and the scalars where they are used.
//
// A scalar expression is written once where it is first used, and again in a sibling block that
// does not see it. Those of constants and the device's number alone go to the beginning of the
// function, so that a loop does not repeat them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tpu/emit/mosaic.hpp"

namespace cmm::tpu::emit {

class BlockWriter {
 public:
  explicit BlockWriter(const Program& program);

  // Values.
  Value argument(std::string type);
  Value integer(Scalar scalar);  // i32
  Value truth(Scalar scalar);    // i1
  Value index(Scalar scalar);    // index
  Value barrier();               // the barrier semaphore
  void set_variable(Scalar variable, Value value);
  void set_grid_index(int dimension, Value value);

  // Operations, at the end of the open block.
  Value op(std::string name, std::vector<Value> operands, std::string attributes,
           std::string result_type);
  void op(std::string name, std::vector<Value> operands, std::string attributes = {});
  void op(std::string name, std::vector<Value> operands, std::vector<Region> regions);

  // What is written between these two goes into the region that the second returns.
  void open_region();
  Region close_region();

  void set_note(int note) { note_ = note; }
  const std::string& type_of(Value value) const {
    return types_[static_cast<std::size_t>(value.id)];
  }

  // All blocks closed but the function's own: its operations, and the types of all values.
  std::vector<Op> take_ops();
  std::vector<std::string> take_types() { return std::move(types_); }

 private:
  enum class As { kInteger, kTruth, kIndex, kBarrier };
  struct OpenBlock {
    std::vector<Op> ops;
    std::map<std::pair<As, int>, Value> known;
  };

  Value new_value(std::string type);
  Value scalar(As as, Scalar scalar);
  Value write_scalar(As as, Scalar scalar);
  Value write_operation(const ScalarNode& node);
  bool is_truth(Scalar scalar) const;
  const ScalarNode& node(Scalar scalar) const {
    return program_.scalars[static_cast<std::size_t>(scalar.id)];
  }

  const Program& program_;
  std::vector<std::string> types_;
  std::vector<bool> invariant_;    // by scalar: of constants and the device's number alone
  std::vector<OpenBlock> blocks_;  // the first: what comes before all else; the second: the body
  std::vector<Value> grid_;
  std::size_t writing_ = 1;  // index of the block that op() writes to
  int note_ = -1;
};

}  // namespace cmm::tpu::emit
