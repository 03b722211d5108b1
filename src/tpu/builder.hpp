// Writes a Program statement by statement.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tpu/program.hpp"

namespace cmm::tpu {

class Builder {
 public:
  explicit Builder(std::string name) { program_.name = std::move(name); }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  int buffer(Buffer buffer);
  int semaphore(SemaphoreArray semaphore);

  // Equal expressions get equal numbers; operations on constants are carried out, and those that
  // change nothing (x + 0, x / 1, true and x) are left out.
  Scalar constant(std::int64_t value);
  Scalar device_id();
  Scalar grid_index(int dimension);
  Scalar op(ScalarOp op, Scalar a, Scalar b);
  Scalar select(Scalar condition, Scalar a, Scalar b);
  Scalar add(Scalar a, Scalar b) { return op(ScalarOp::kAdd, a, b); }
  Scalar sub(Scalar a, Scalar b) { return op(ScalarOp::kSub, a, b); }
  Scalar mul(Scalar a, Scalar b) { return op(ScalarOp::kMul, a, b); }
  Scalar div(Scalar a, Scalar b) { return op(ScalarOp::kDiv, a, b); }
  Scalar rem(Scalar a, Scalar b) { return op(ScalarOp::kRem, a, b); }
  Scalar equal(Scalar a, Scalar b) { return op(ScalarOp::kEq, a, b); }
  Scalar less(Scalar a, Scalar b) { return op(ScalarOp::kLt, a, b); }
  Scalar at_least(Scalar a, Scalar b) { return op(ScalarOp::kGe, a, b); }
  Scalar both(Scalar a, Scalar b) { return op(ScalarOp::kAnd, a, b); }

  Scalar read(int buffer, const std::vector<Scalar>& index);
  void start_copy(StartCopy copy);
  void await_copy(AwaitCopy await);
  void signal(Signal signal);
  void await(Await await);

  Vector load(const Slice& from);
  void store(Vector value, const Slice& to);
  Vector zero(VectorType type);
  Vector matmul(Vector lhs, Vector rhs, bool rhs_transposed);
  Vector add(Vector a, Vector b);
  Vector select(Scalar condition, Vector a, Vector b);
  Vector cast(Vector from, Element element);
  Vector reshape(Vector from, std::vector<std::int64_t> shape);

  // A body that is never run (a constant condition) is not written, one that always is without If.
  void when(Scalar condition, const std::function<void()>& body);
  void loop(Scalar begin, Scalar end, const std::function<void(Scalar index)>& body);
  void scope(std::string name, const std::function<void()>& body);
  void debug_print(std::string text, std::vector<Scalar> values);
  // Statements written inside of `body` bear this note.
  void note(std::string text, const std::function<void()>& body);

  Program& program() { return program_; }  // for what has no function here
  // The program; the builder is empty afterwards.
  Program finish();

 private:
  using NodeKey = std::tuple<ScalarOp, std::int64_t, int, int, int>;

  Scalar node(const ScalarNode& node);
  Scalar variable();
  std::optional<std::int64_t> constant_of(Scalar scalar) const;
  std::optional<Scalar> simplified(ScalarOp op, Scalar a, Scalar b);
  Vector vector(VectorType type);
  const VectorType& type_of(Vector vector) const;
  template <class What>
  void write(What what);
  Block written_by(const std::function<void()>& body);

  Program program_;
  std::map<NodeKey, int> nodes_;  // of all but variables
  std::map<std::string, int> notes_;
  Block* open_ = &program_.body;  // where statements go
  int note_ = -1;
};

}  // namespace cmm::tpu
