#include "tpu/builder.hpp"

#include "base/check.hpp"
#include "tpu/scalars.hpp"
#include "tpu/shapes.hpp"

namespace cmm::tpu {

int Builder::buffer(Buffer buffer) {
  program_.buffers.push_back(std::move(buffer));
  return static_cast<int>(program_.buffers.size()) - 1;
}

int Builder::semaphore(SemaphoreArray semaphore) {
  program_.semaphores.push_back(std::move(semaphore));
  return static_cast<int>(program_.semaphores.size()) - 1;
}

// Scalars.

Scalar Builder::node(const ScalarNode& node) {
  const NodeKey key{node.op, node.immediate, node.a.id, node.b.id, node.c.id};
  const auto [entry, is_new] = nodes_.try_emplace(key, static_cast<int>(program_.scalars.size()));
  if (is_new) program_.scalars.push_back(node);
  return {entry->second};
}

Scalar Builder::variable() {
  program_.scalars.push_back({.op = ScalarOp::kVariable});
  return {static_cast<int>(program_.scalars.size()) - 1};
}

std::optional<std::int64_t> Builder::constant_of(Scalar scalar) const {
  CMM_DCHECK(scalar.known());
  const ScalarNode& node = program_.scalars[static_cast<std::size_t>(scalar.id)];
  if (node.op != ScalarOp::kConstant) return std::nullopt;
  return node.immediate;
}

Scalar Builder::constant(std::int64_t value) {
  return node({.op = ScalarOp::kConstant, .immediate = value});
}
Scalar Builder::device_id() { return node({.op = ScalarOp::kDeviceId}); }
Scalar Builder::grid_index(int dimension) {
  return node({.op = ScalarOp::kGridIndex, .immediate = dimension});
}

// The operand or constant that `a op b` always equals, where that is plain from one constant.
std::optional<Scalar> Builder::simplified(ScalarOp op, Scalar a, Scalar b) {
  const auto left = constant_of(a), right = constant_of(b);
  switch (op) {
    case ScalarOp::kAdd:
      if (left == 0) return b;
      if (right == 0) return a;
      break;
    case ScalarOp::kSub:
      if (right == 0) return a;
      break;
    case ScalarOp::kMul:
      if (left == 1 || right == 0) return b;
      if (right == 1 || left == 0) return a;
      break;
    case ScalarOp::kDiv:
      if (right == 1) return a;
      break;
    case ScalarOp::kRem:
      if (right == 1) return constant(0);
      break;
    case ScalarOp::kAnd:
      if (left == 1 || right == 0) return b;
      if (right == 1 || left == 0) return a;
      break;
    case ScalarOp::kOr:
      if (left == 0 || right == 1) return b;
      if (right == 0 || left == 1) return a;
      break;
    default:
      break;
  }
  return std::nullopt;
}

Scalar Builder::op(ScalarOp op, Scalar a, Scalar b) {
  CMM_DCHECK(is_operation(op) && op != ScalarOp::kSelect);
  const auto left = constant_of(a), right = constant_of(b);
  if (left && right) {
    if (const auto result = apply(op, *left, *right)) return constant(*result);
  }
  if (const auto same = simplified(op, a, b)) return *same;
  return node({.op = op, .a = a, .b = b});
}

Scalar Builder::select(Scalar condition, Scalar a, Scalar b) {
  if (const auto known = constant_of(condition)) return *known != 0 ? a : b;
  if (a == b) return a;
  return node({.op = ScalarOp::kSelect, .a = condition, .b = a, .c = b});
}

// Statements.

template <class What>
void Builder::write(What what) {
  open_->push_back({.what = std::move(what), .note = note_});
}

Scalar Builder::read(int buffer, const std::vector<Scalar>& index) {
  const Scalar result = variable();
  write(ReadScalar{.result = result, .buffer = buffer, .index = index});
  return result;
}
void Builder::start_copy(StartCopy copy) { write(std::move(copy)); }
void Builder::await_copy(AwaitCopy await) { write(std::move(await)); }
void Builder::signal(Signal signal) { write(std::move(signal)); }
void Builder::await(Await await) { write(std::move(await)); }

Vector Builder::vector(VectorType type) {
  program_.vectors.push_back(std::move(type));
  return {static_cast<int>(program_.vectors.size()) - 1};
}

const VectorType& Builder::type_of(Vector vector) const {
  CMM_DCHECK(vector.id >= 0 && vector.id < static_cast<int>(program_.vectors.size()));
  return program_.vectors[static_cast<std::size_t>(vector.id)];
}

Vector Builder::load(const Slice& from) {
  CMM_DCHECK(from.buffer >= 0 && from.buffer < static_cast<int>(program_.buffers.size()));
  const Buffer& buffer = program_.buffers[static_cast<std::size_t>(from.buffer)];
  const Vector result = vector({.element = buffer.element, .shape = squeezed_shape(from)});
  write(LoadVector{.result = result, .from = from});
  return result;
}

void Builder::store(Vector value, const Slice& to) { write(StoreVector{.value = value, .to = to}); }

Vector Builder::zero(VectorType type) {
  const Vector result = vector(std::move(type));
  write(ZeroVector{.result = result});
  return result;
}

Vector Builder::matmul(Vector lhs, Vector rhs, bool rhs_transposed) {
  const VectorType& left = type_of(lhs);
  const VectorType& right = type_of(rhs);
  CMM_DCHECK(left.shape.size() == 2 && right.shape.size() == 2);
  const Vector result =
      vector({.element = sum_element(left.element),
              .shape = {left.shape.at(0), right.shape.at(rhs_transposed ? 0 : 1)}});
  write(Matmul{.result = result, .lhs = lhs, .rhs = rhs, .rhs_transposed = rhs_transposed});
  return result;
}

Vector Builder::add(Vector a, Vector b) {
  const Vector result = vector(VectorType(type_of(a)));
  write(AddVectors{.result = result, .a = a, .b = b});
  return result;
}

Vector Builder::select(Scalar condition, Vector a, Vector b) {
  if (const auto known = constant_of(condition)) return *known != 0 ? a : b;
  const Vector result = vector(VectorType(type_of(a)));
  write(SelectVector{.result = result, .condition = condition, .a = a, .b = b});
  return result;
}

Vector Builder::cast(Vector from, Element element) {
  if (type_of(from).element == element) return from;
  const Vector result = vector({.element = element, .shape = type_of(from).shape});
  write(CastVector{.result = result, .from = from});
  return result;
}

Vector Builder::reshape(Vector from, std::vector<std::int64_t> shape) {
  if (type_of(from).shape == shape) return from;
  const Vector result = vector({.element = type_of(from).element, .shape = std::move(shape)});
  write(ReshapeVector{.result = result, .from = from});
  return result;
}

// Blocks of statements.

Block Builder::written_by(const std::function<void()>& body) {
  Block block;
  Block* const outer = std::exchange(open_, &block);
  body();
  CMM_DCHECK(open_ == &block);
  open_ = outer;
  return block;
}

void Builder::when(Scalar condition, const std::function<void()>& body) {
  if (const auto known = constant_of(condition)) {
    if (*known != 0) body();
    return;
  }
  Block then = written_by(body);
  if (!then.empty()) write(If{.condition = condition, .then = std::move(then)});
}

void Builder::loop(Scalar begin, Scalar end, const std::function<void(Scalar index)>& body) {
  const Scalar index = variable();
  Block block = written_by([&] { body(index); });
  write(For{.index = index, .begin = begin, .end = end, .body = std::move(block)});
}

void Builder::scope(std::string name, const std::function<void()>& body) {
  Block block = written_by(body);
  if (!block.empty()) write(Scope{.name = std::move(name), .body = std::move(block)});
}

void Builder::debug_print(std::string text, std::vector<Scalar> values) {
  write(DebugPrint{.text = std::move(text), .values = std::move(values)});
}

void Builder::note(std::string text, const std::function<void()>& body) {
  const auto [entry, is_new] =
      notes_.try_emplace(std::move(text), static_cast<int>(program_.notes.size()));
  if (is_new) program_.notes.push_back(entry->first);
  const int outer = std::exchange(note_, entry->second);
  body();
  note_ = outer;
}

Program Builder::finish() {
  CMM_DCHECK(open_ == &program_.body && note_ == -1);  // not inside of a body
  nodes_.clear();
  notes_.clear();
  return std::exchange(program_, {});
}

}  // namespace cmm::tpu
