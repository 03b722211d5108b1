#include "tpu/check.hpp"

#include <algorithm>
#include <variant>
#include <vector>

#include "base/text.hpp"
#include "tpu/check_scalars.hpp"
#include "tpu/numbers.hpp"
#include "tpu/shapes.hpp"
#include "tpu/text.hpp"

namespace cmm::tpu {
namespace {

template <class T>
bool has(const std::vector<T>& list, int number) {
  return number >= 0 && number < static_cast<int>(list.size());
}
template <class T>
const T& get(const std::vector<T>& list, int number) {
  return list[static_cast<std::size_t>(number)];
}

class Checker {
 public:
  explicit Checker(const Program& program)
      : program_(program),
        scalars_(check_scalars(program)),
        vectors_(program.vectors.size()),
        variables_(program.scalars.size()) {}

  void check() {
    declarations();
    block(program_.body);
  }

 private:
  void declarations() const;
  void block(const Block& statements);
  void statement(const Statement& statement);

  void visit(const StartCopy& copy);
  void visit(const AwaitCopy& await);
  void visit(const Signal& signal);
  void visit(const Await& await);
  void visit(const ReadScalar& read);
  void visit(const LoadVector& load);
  void visit(const StoreVector& store);
  void visit(const ZeroVector& zero) { make(zero.result); }
  void visit(const Matmul& matmul);
  void visit(const AddVectors& add);
  void visit(const SelectVector& select);
  void visit(const CastVector& cast);
  void visit(const ReshapeVector& reshape);
  void visit(const If& branch) { use(branch.condition, ScalarType::kTruth, "the condition"); }
  void visit(const For& loop) {
    use(loop.begin, ScalarType::kInteger, "the begin");
    use(loop.end, ScalarType::kInteger, "the end");
  }
  void visit(const Scope&) {}
  void visit(const DebugPrint& print) {
    for (const Scalar value : print.values) known(value, "a printed value");
  }

  void known(Scalar scalar, const char* what) const;
  void use(Scalar scalar, ScalarType type, const char* what) const;
  void make_variable(Scalar variable);
  const VectorType& use(Vector vector) const;
  const VectorType& make(Vector vector);
  const Buffer& slice(const Slice& slice) const;
  const SemaphoreArray& semaphore(const SemaphoreRef& semaphore) const;
  void dma_semaphore(const SemaphoreRef& ref) const;
  void device(Scalar scalar) const;
  void same_shape(const Slice& source, const Slice& target) const;
  std::int64_t constant(Scalar scalar, std::int64_t otherwise) const {
    const ScalarNode& node = get(program_.scalars, scalar.id);
    return node.op == ScalarOp::kConstant ? node.immediate : otherwise;
  }

  // A number is made once, and has a value from there to the end of the block.
  enum class State : std::uint8_t { kNotMade, kHere, kOver };

  const Program& program_;
  ScalarFacts scalars_;
  std::vector<State> vectors_, variables_;  // by number
  std::vector<State*> made_;                // in the open blocks
};

void Checker::declarations() const {
  if (program_.num_devices < 1) found("num_devices is ", program_.num_devices, "; at least 1");
  for (const Buffer& buffer : program_.buffers) {
    const auto rank = static_cast<int>(buffer.shape.size());
    const bool fits = rank >= 1 && rank <= kMaxRank &&
                      std::all_of(buffer.shape.begin(), buffer.shape.end(),
                                  [](std::int64_t extent) { return extent >= 1; });
    if (!fits) {
      found("buffer ", buffer.name, " has shape ", shape_text(buffer.shape), "; 1 to ", kMaxRank,
            " dimensions of at least 1");
    }
    if (buffer.role == Role::kScratch && buffer.memory == Memory::kHbm) {
      found("buffer ", buffer.name, " is scratch in hbm; only an output lives there");
    }
    if (buffer.role == Role::kOutput && buffer.memory == Memory::kSmem) {
      found("buffer ", buffer.name, " is an output in smem");
    }
  }
  int num_barriers = 0;
  for (const SemaphoreArray& array : program_.semaphores) {
    for (const std::int64_t extent : array.shape) {
      if (extent < 1) {
        found("semaphore ", array.name, " has shape ", shape_text(array.shape),
              "; dimensions of at least 1");
      }
    }
    if (array.kind != SemaphoreKind::kBarrier) continue;
    if (++num_barriers > 1) found("semaphore ", array.name, " is a second barrier");
    if (!array.shape.empty()) found("barrier ", array.name, " is an array");
    if (!program_.collective_id) found("barrier ", array.name, " without a collective id");
  }
  for (const std::int64_t extent : program_.grid) {
    if (extent < 1) found("the grid is ", shape_text(program_.grid));
  }
}

void Checker::block(const Block& statements) {
  const std::size_t outer = made_.size();
  for (const Statement& each : statements) statement(each);
  for (; made_.size() > outer; made_.pop_back()) *made_.back() = State::kOver;
}

void Checker::statement(const Statement& statement) {
  try {
    std::visit([this](const auto& what) { visit(what); }, statement.what);
    const auto* loop = std::get_if<For>(&statement.what);
    if (loop != nullptr) make_variable(loop->index);
    if (const Block* body = body_of(statement)) block(*body);
    if (loop != nullptr) {
      *made_.back() = State::kOver;  // the index
      made_.pop_back();
    }
  } catch (FoundInProgram& fault) {
    // The innermost statement tells.
    if (fault.text.find('\n') == std::string::npos) {
      const TextWriter writer(program_);
      fault.text = cat(writer.line(statement), writer.note(statement), ":\n", fault.text);
    }
    throw;
  }
}

void Checker::known(Scalar scalar, const char* what) const {
  if (!has(program_.scalars, scalar.id)) found(what, " is no scalar of the program");
  for (const int variable : get(scalars_.variables, scalar.id)) {
    if (get(variables_, variable) != State::kHere) {
      found(what, " is made of s", variable, ", which has no value here");
    }
  }
}

void Checker::use(Scalar scalar, ScalarType type, const char* what) const {
  known(scalar, what);
  const ScalarType have = get(scalars_.types, scalar.id);
  if (have != type && have != ScalarType::kBoth) {
    found(what, type == ScalarType::kTruth ? " is no truth value" : " is no integer");
  }
}

void Checker::make_variable(Scalar variable) {
  if (!has(program_.scalars, variable.id) ||
      get(program_.scalars, variable.id).op != ScalarOp::kVariable) {
    found("the result is no variable of the program");
  }
  State& state = variables_[static_cast<std::size_t>(variable.id)];
  if (state != State::kNotMade) found("s", variable.id, " is made twice");
  state = State::kHere;
  made_.push_back(&state);
}

const VectorType& Checker::use(Vector vector) const {
  if (!has(program_.vectors, vector.id)) found("there is no vector v", vector.id);
  if (get(vectors_, vector.id) != State::kHere) {
    found("v", vector.id, " has no value here");
  }
  return get(program_.vectors, vector.id);
}

const VectorType& Checker::make(Vector vector) {
  if (!has(program_.vectors, vector.id)) found("there is no vector v", vector.id);
  State& state = vectors_[static_cast<std::size_t>(vector.id)];
  if (state != State::kNotMade) found("v", vector.id, " is made twice");
  state = State::kHere;
  made_.push_back(&state);
  const VectorType& type = get(program_.vectors, vector.id);
  for (const std::int64_t extent : type.shape) {
    if (extent < 1) found("v", vector.id, " has shape ", shape_text(type.shape));
  }
  return type;
}

const Buffer& Checker::slice(const Slice& slice) const {
  if (!has(program_.buffers, slice.buffer)) found("there is no buffer ", slice.buffer);
  const Buffer& buffer = get(program_.buffers, slice.buffer);
  if (slice.offsets.size() != buffer.shape.size() || slice.sizes.size() != buffer.shape.size()) {
    found(slice.offsets.size(), " offsets and ", slice.sizes.size(), " sizes of ", buffer.name,
          ", which has ", buffer.shape.size(), " dimensions");
  }
  if (slice.num_squeezed < 0 || slice.num_squeezed > static_cast<int>(buffer.shape.size())) {
    found(slice.num_squeezed, " squeezed dimensions of ", buffer.name);
  }
  for (std::size_t i = 0; i < slice.sizes.size(); ++i) {
    use(slice.offsets[i], ScalarType::kInteger, "an offset");
    const std::int64_t begin = constant(slice.offsets[i], 0), size = slice.sizes[i];
    if (begin < 0 || size < 1 || begin > buffer.shape[i] - size) {
      found(size, " from ", begin, " on of dimension ", i, " of ", buffer.name, ", which is ",
            buffer.shape[i]);
    }
    if (static_cast<int>(i) < slice.num_squeezed && size != 1) {
      found("dimension ", i, " of ", buffer.name, " is squeezed and has size ", size);
    }
  }
  return buffer;
}

const SemaphoreArray& Checker::semaphore(const SemaphoreRef& ref) const {
  if (!has(program_.semaphores, ref.array)) found("there is no semaphore ", ref.array);
  const SemaphoreArray& array = get(program_.semaphores, ref.array);
  if (ref.index.size() != array.shape.size()) {
    found(ref.index.size(), " indices of semaphore ", array.name, " of shape ",
          shape_text(array.shape));
  }
  for (std::size_t i = 0; i < ref.index.size(); ++i) {
    use(ref.index[i], ScalarType::kInteger, "an index");
    const std::int64_t index = constant(ref.index[i], 0);
    if (index < 0 || index >= array.shape[i]) {
      found("index ", index, " of semaphore ", array.name, " of shape ", shape_text(array.shape));
    }
  }
  return array;
}

void Checker::dma_semaphore(const SemaphoreRef& ref) const {
  const SemaphoreArray& array = semaphore(ref);
  if (array.kind != SemaphoreKind::kDma) found("semaphore ", array.name, " does not count bytes");
}

void Checker::device(Scalar scalar) const {
  use(scalar, ScalarType::kInteger, "the device");
  const std::int64_t number = constant(scalar, 0);
  if (number < 0 || number >= program_.num_devices) {
    found("device ", number, " of ", program_.num_devices);
  }
}

void Checker::same_shape(const Slice& source, const Slice& target) const {
  const Buffer &from = slice(source), &to = slice(target);
  if (from.element != to.element) {
    found("from ", element_name(from.element), " to ", element_name(to.element));
  }
  if (squeezed_shape(source) != squeezed_shape(target)) {
    found("from shape ", shape_text(squeezed_shape(source)), " to ",
          shape_text(squeezed_shape(target)));
  }
}

void Checker::visit(const StartCopy& copy) {
  same_shape(copy.source, copy.target);
  const Buffer& target = get(program_.buffers, copy.target.buffer);
  if (target.role == Role::kInput) found("input ", target.name, " is written");
  dma_semaphore(copy.arrival);
  if (!copy.remote) return;
  dma_semaphore(copy.remote->departure);
  device(copy.remote->device);
}

void Checker::visit(const AwaitCopy& await) {
  same_shape(await.source, await.target);
  dma_semaphore(await.semaphore);
  if (await.device.known()) device(await.device);
}

void Checker::visit(const Signal& signal) {
  const SemaphoreArray& array = semaphore(signal.semaphore);
  if (array.kind == SemaphoreKind::kDma) found("semaphore ", array.name, " counts bytes");
  use(signal.amount, ScalarType::kInteger, "the amount");
  if (signal.device.known()) device(signal.device);
}

void Checker::visit(const Await& await) {
  const SemaphoreArray& array = semaphore(await.semaphore);
  if (array.kind == SemaphoreKind::kDma) found("semaphore ", array.name, " counts bytes");
  use(await.amount, ScalarType::kInteger, "the amount");
}

void Checker::visit(const ReadScalar& read) {
  if (!has(program_.buffers, read.buffer)) found("there is no buffer ", read.buffer);
  const Buffer& buffer = get(program_.buffers, read.buffer);
  if (buffer.memory != Memory::kSmem) {
    found("scalars are read from smem; ", buffer.name, " is in ", memory_name(buffer.memory));
  }
  if (buffer.element != Element::kS32) {
    found("scalars are int32; ", buffer.name, " holds ", element_name(buffer.element));
  }
  if (read.index.size() != buffer.shape.size()) {
    found(read.index.size(), " indices of ", buffer.name, " of shape ", shape_text(buffer.shape));
  }
  for (std::size_t i = 0; i < read.index.size(); ++i) {
    use(read.index[i], ScalarType::kInteger, "an index");
    const std::int64_t index = constant(read.index[i], 0);
    if (index < 0 || index >= buffer.shape[i]) {
      found("index ", index, " of ", buffer.name, " of shape ", shape_text(buffer.shape));
    }
  }
  make_variable(read.result);
}

void Checker::visit(const LoadVector& load) {
  const Buffer& buffer = slice(load.from);
  if (buffer.memory != Memory::kVmem) {
    found("vectors are loaded from vmem; ", buffer.name, " is in ", memory_name(buffer.memory));
  }
  const VectorType& type = make(load.result);
  if (type != VectorType{buffer.element, squeezed_shape(load.from)}) {
    found("v", load.result.id, " is ", element_name(type.element), " ", shape_text(type.shape),
          ", the slice ", element_name(buffer.element), " ", shape_text(squeezed_shape(load.from)));
  }
}

void Checker::visit(const StoreVector& store) {
  const VectorType& type = use(store.value);
  const Buffer& buffer = slice(store.to);
  if (buffer.memory != Memory::kVmem) {
    found("vectors are stored to vmem; ", buffer.name, " is in ", memory_name(buffer.memory));
  }
  if (buffer.role == Role::kInput) found("input ", buffer.name, " is written");
  if (type != VectorType{buffer.element, squeezed_shape(store.to)}) {
    found("v", store.value.id, " is ", element_name(type.element), " ", shape_text(type.shape),
          ", the slice ", element_name(buffer.element), " ", shape_text(squeezed_shape(store.to)));
  }
}

void Checker::visit(const Matmul& matmul) {
  const VectorType &lhs = use(matmul.lhs), &rhs = use(matmul.rhs), &to = make(matmul.result);
  const bool matrices = lhs.shape.size() == 2 && rhs.shape.size() == 2 && to.shape.size() == 2;
  const std::size_t inner = matmul.rhs_transposed ? 1 : 0;
  const bool fits = matrices && lhs.shape[1] == rhs.shape[inner] && to.shape[0] == lhs.shape[0] &&
                    to.shape[1] == rhs.shape[1 - inner];
  if (!fits) {
    found("product of ", shape_text(lhs.shape), " and ", shape_text(rhs.shape), " to ",
          shape_text(to.shape));
  }
  if (lhs.element != rhs.element || lhs.element == Element::kS32 ||
      to.element != sum_element(lhs.element)) {
    found("product of ", element_name(lhs.element), " and ", element_name(rhs.element), " to ",
          element_name(to.element));
  }
}

void Checker::visit(const AddVectors& add) {
  const VectorType &a = use(add.a), &b = use(add.b), &to = make(add.result);
  if (a != b || a != to) {
    found("sum of ", shape_text(a.shape), " and ", shape_text(b.shape), " to ",
          shape_text(to.shape), ", or of unequal elements");
  }
}

void Checker::visit(const SelectVector& select) {
  use(select.condition, ScalarType::kTruth, "the condition");
  const VectorType &a = use(select.a), &b = use(select.b), &to = make(select.result);
  if (a != b || a != to) {
    found("choice of ", shape_text(a.shape), " and ", shape_text(b.shape), " to ",
          shape_text(to.shape), ", or of unequal elements");
  }
}

void Checker::visit(const CastVector& cast) {
  const VectorType &from = use(cast.from), &to = make(cast.result);
  const bool integers = is_integer(from.element);
  if (from.shape != to.shape || integers != is_integer(to.element)) {
    found("cast from ", element_name(from.element), " ", shape_text(from.shape), " to ",
          element_name(to.element), " ", shape_text(to.shape));
  }
}

void Checker::visit(const ReshapeVector& reshape) {
  const VectorType &from = use(reshape.from), &to = make(reshape.result);
  if (from.element != to.element || num_elements(from.shape) != num_elements(to.shape)) {
    found("reshape from ", element_name(from.element), " ", shape_text(from.shape), " to ",
          element_name(to.element), " ", shape_text(to.shape));
  }
}

}  // namespace

std::string check_structure(const Program& program) {
  try {
    Checker(program).check();
  } catch (const FoundInProgram& fault) {
    return fault.text;
  }
  return "";
}

}  // namespace cmm::tpu
