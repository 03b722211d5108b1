// Each statement of a program as operations of Mosaic.
#include <algorithm>
#include <utility>
#include <variant>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "tpu/emit/block_writer.hpp"
#include "tpu/emit/mosaic.hpp"
#include "tpu/emit/types.hpp"
#include "tpu/shapes.hpp"

namespace cmm::tpu::emit {
namespace {

constexpr std::string_view kSemaphoreMemory = "semaphore_mem";

std::string_view semaphore_element(SemaphoreKind kind) {
  return kind == SemaphoreKind::kDma ? "!tpu.dma_semaphore" : "!tpu.semaphore";
}

std::string segments(const std::vector<int>& sizes) {
  return cat("operandSegmentSizes = array<i32: ", joined(sizes, ", "), ">");
}

class Lowering {
 public:
  Lowering(const Program& program, int version)
      : program_(program), version_(version), write_(program), vectors_(program.vectors.size()) {}

  MosaicModule run() {
    Region body;
    declare(body);
    block(program_.body);
    write_.set_note(-1);
    write_.op("func.return", {}, std::string());
    body.ops = write_.take_ops();
    Op function{.name = "func.func", .attributes = function_attributes(body)};
    function.regions.push_back(std::move(body));
    return {.version = version_, .types = write_.take_types(), .function = std::move(function)};
  }

 private:
  struct Memref {
    Value value;
    std::vector<std::int64_t> shape;
    std::string element;
    std::string memory;
  };

  // Arguments of the function: the indices of the grid, inputs, outputs, scratch, semaphores.
  void declare(Region& body) {
    for (std::size_t i = 0; i < program_.grid.size(); ++i) {
      body.arguments.push_back(write_.argument("i32"));
      write_.set_grid_index(static_cast<int>(i), body.arguments.back());
    }
    buffers_.resize(program_.buffers.size());
    for (const Role role : {Role::kInput, Role::kOutput, Role::kScratch}) {
      for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
        const Buffer& buffer = program_.buffers[i];
        if (buffer.role != role) continue;
        buffers_[i] =
            argument(body, buffer.shape, element_text(buffer.element), memory_text(buffer.memory));
        ++(role == Role::kScratch ? num_scratch_ : num_operands_);
      }
    }
    semaphores_.resize(program_.semaphores.size());
    for (std::size_t i = 0; i < program_.semaphores.size(); ++i) {
      const SemaphoreArray& array = program_.semaphores[i];
      if (array.kind == SemaphoreKind::kBarrier) continue;
      semaphores_[i] = argument(body, array.shape, semaphore_element(array.kind), kSemaphoreMemory);
      ++num_scratch_;
    }
  }
  Memref argument(Region& body, const std::vector<std::int64_t>& shape, std::string_view element,
                  std::string_view memory) {
    const Value value = write_.argument(memref_text(shape, element, memory));
    body.arguments.push_back(value);
    return {value, shape, std::string(element), std::string(memory)};
  }

  std::string function_attributes(const Region& body) const {
    const auto type = [this](Value argument) { return write_.type_of(argument); };
    std::string semantics, windows;
    for (std::size_t i = 0; i < program_.grid.size(); ++i) {
      semantics += cat(semantics.empty() ? "" : ", ", "#tpu.dimension_semantics<arbitrary>");
    }
    for (int i = 0; i < num_operands_; ++i) windows += i == 0 ? "{}" : ", {}";
    const bool has_grid = !program_.grid.empty();
    return cat(
        "dimension_semantics = [", semantics, "], function_type = (",
        joined(body.arguments, ", ", type), ") -> (), ",
        has_grid ? cat("iteration_bounds = array<i64: ", joined(program_.grid, ", "), ">, ") : "",
        "scalar_prefetch = 0 : i64, scratch_operands = ", num_scratch_,
        " : i64, sym_name = \"main\", tpu.core_type = #tpu.core_type<tc>",
        has_grid ? cat(", window_params = [", windows, "]") : "");
  }

  // Slices.

  Memref part(const Memref& whole, const std::vector<Scalar>& offsets,
              const std::vector<std::int64_t>& sizes, int num_squeezed) {
    Memref result = whole;
    if (sizes != whole.shape) {
      std::vector<Value> operands = {whole.value};
      for (const Scalar offset : offsets) operands.push_back(write_.integer(offset));
      result.shape = sizes;
      result.value = write_.op("tpu.memref_slice", std::move(operands),
                               segments({1, static_cast<int>(sizes.size()), 0}), type(result));
    }
    if (num_squeezed > 0) {
      const Value whole_part = result.value;
      result.shape.erase(result.shape.begin(), result.shape.begin() + num_squeezed);
      result.value = write_.op("tpu.memref_squeeze", {whole_part}, {}, type(result));
    }
    return result;
  }
  static std::string type(const Memref& memref) {
    return memref_text(memref.shape, memref.element, memref.memory);
  }
  Value part(const Slice& slice) {
    return part(buffers_[static_cast<std::size_t>(slice.buffer)], slice.offsets, slice.sizes,
                slice.num_squeezed)
        .value;
  }
  Value semaphore(const SemaphoreRef& ref) {
    const auto at = static_cast<std::size_t>(ref.array);
    if (program_.semaphores[at].kind == SemaphoreKind::kBarrier) return write_.barrier();
    const int rank = static_cast<int>(ref.index.size());
    return part(semaphores_[at], ref.index, std::vector<std::int64_t>(ref.index.size(), 1), rank)
        .value;
  }

  // Statements.

  void block(const Block& statements) {
    for (const Statement& each : statements) {
      write_.set_note(each.note);
      std::visit([this](const auto& what) { statement(what); }, each.what);
    }
  }

  std::string strictness() const { return version_ >= 8 ? ", strict_ordering = false" : ""; }

  void statement(const StartCopy& copy) {
    std::vector<Value> operands = {part(copy.source)};
    if (copy.remote) operands.push_back(semaphore(copy.remote->departure));
    operands.push_back(part(copy.target));
    operands.push_back(semaphore(copy.arrival));
    if (copy.remote) operands.push_back(write_.integer(copy.remote->device));
    const int remote = copy.remote ? 1 : 0;
    std::vector<int> sizes = {1, remote, 1, 1, remote, 0};
    if (version_ >= 14) sizes.push_back(0);
    write_.op("tpu.enqueue_dma", std::move(operands),
              cat(segments(sizes), ", priority = 0 : i32", strictness()));
  }

  // The wait takes its bytes from the second memref. A departure is told from an arrival by its
  // core, as JAX writes it: its bytes are those of the source.
  void statement(const AwaitCopy& await) {
    const bool departure = await.side == AwaitCopy::Side::kDeparture;
    const bool arrival = await.side == AwaitCopy::Side::kArrival;
    const Value source = part(departure ? await.target : await.source);
    const Value target = part(departure ? await.source : await.target);
    std::vector<Value> operands = {semaphore(await.semaphore), source, target};
    if (departure) {
      const Value zero = write_.op("arith.constant", {}, "value = 0 : i32", "i32");
      operands.insert(operands.end(), {zero, zero});
    }
    if (arrival) operands.push_back(write_.integer(await.device));
    write_.op("tpu.wait_dma2", std::move(operands),
              segments({1, 1, 1, departure || arrival ? 1 : 0, departure ? 1 : 0}) + strictness());
  }

  void statement(const Signal& signal) {
    std::vector<Value> operands = {semaphore(signal.semaphore)};
    operands.push_back(write_.integer(signal.amount));
    const bool remote = signal.device.known();
    if (remote) operands.push_back(write_.integer(signal.device));
    std::vector<int> sizes = {1, 1, remote ? 1 : 0, 0};
    if (version_ >= 14) sizes.push_back(0);
    write_.op("tpu.sem_signal", std::move(operands), segments(sizes));
  }
  void statement(const Await& await) {
    const Value waited = semaphore(await.semaphore);
    write_.op("tpu.sem_wait", {waited, write_.integer(await.amount)}, std::string());
  }

  void statement(const ReadScalar& read) {
    std::vector<Value> operands = {buffers_[static_cast<std::size_t>(read.buffer)].value};
    for (const Scalar at : read.index) operands.push_back(write_.index(at));
    write_.set_variable(read.result, write_.op("memref.load", std::move(operands), {}, "i32"));
  }

  const VectorType& type_of(Vector vector) const {
    return program_.vectors[static_cast<std::size_t>(vector.id)];
  }
  Value& value_of(Vector vector) { return vectors_[static_cast<std::size_t>(vector.id)]; }
  void make(Vector result, std::string name, std::vector<Value> operands, std::string attributes) {
    value_of(result) = write_.op(std::move(name), std::move(operands), std::move(attributes),
                                 vector_text(type_of(result)));
  }

  // Vectors are loaded and stored with all dimensions of their buffer.
  void statement(const LoadVector& load) {
    const Memref& from = buffers_[static_cast<std::size_t>(load.from.buffer)];
    std::vector<Value> operands = {from.value};
    for (const Scalar offset : load.from.offsets) operands.push_back(write_.index(offset));
    const VectorType whole{.element = type_of(load.result).element, .shape = load.from.sizes};
    const Value loaded = write_.op("vector.load", std::move(operands), {}, vector_text(whole));
    value_of(load.result) = loaded;
    if (load.from.num_squeezed > 0) make(load.result, "vector.shape_cast", {loaded}, {});
  }
  void statement(const StoreVector& store) {
    const Memref& to = buffers_[static_cast<std::size_t>(store.to.buffer)];
    const VectorType whole{.element = type_of(store.value).element, .shape = store.to.sizes};
    Value value = value_of(store.value);
    if (store.to.num_squeezed > 0) {
      value = write_.op("vector.shape_cast", {value}, {}, vector_text(whole));
    }
    std::vector<Value> operands = {value, to.value};
    for (const Scalar offset : store.to.offsets) operands.push_back(write_.index(offset));
    const int rank = static_cast<int>(store.to.offsets.size());
    write_.op("tpu.vector_store", std::move(operands),
              cat(version_ >= 11 ? "add = false, " : "", segments({1, 1, rank, 0}),
                  ", strides = array<i32>"));
  }

  Value zeros(const VectorType& type) {
    const bool integer = type.element == Element::kS32 || type.element == Element::kS8;
    return write_.op(
        "arith.constant", {},
        cat("value = dense<", integer ? "0" : "0.000000e+00", "> : ", vector_text(type)),
        vector_text(type));
  }
  void statement(const ZeroVector& zero) { value_of(zero.result) = zeros(type_of(zero.result)); }
  void statement(const Matmul& matmul) {
    const Value lhs = value_of(matmul.lhs), rhs = value_of(matmul.rhs);
    const Value zero = zeros(type_of(matmul.result));
    make(matmul.result, "tpu.matmul", {lhs, rhs, zero},
         cat("dimension_numbers = #tpu.dot_dimension_numbers<",
             matmul.rhs_transposed ? "[1], [1], [0], [0], [0, 0, 1, 0]"
                                   : "[1], [0], [0], [1], [0, 0, 1, 1]",
             ", [], []>, transpose_lhs = false, ",
             version_ >= 13 ? "transpose_lhs_hint = false, " : "", "transpose_rhs = false"));
  }
  void statement(const AddVectors& add) {
    const bool integer = type_of(add.result).element == Element::kS32;
    make(add.result, integer ? "arith.addi" : "arith.addf", {value_of(add.a), value_of(add.b)},
         integer ? "overflowFlags = #arith.overflow<none>" : "fastmath = #arith.fastmath<none>");
  }
  void statement(const SelectVector& select) {
    const Value condition = write_.truth(select.condition);
    make(select.result, "arith.select", {condition, value_of(select.a), value_of(select.b)}, {});
  }
  void statement(const CastVector& cast) {
    const bool integer = type_of(cast.from).element == Element::kS32;
    make(cast.result, integer ? "arith.trunci" : "arith.truncf", {value_of(cast.from)},
         integer ? "overflowFlags = #arith.overflow<none>" : "");
  }
  void statement(const ReshapeVector& reshape) {
    make(reshape.result, "vector.shape_cast", {value_of(reshape.from)}, {});
  }

  void statement(const If& branch) {
    const Value condition = write_.truth(branch.condition);
    std::vector<Region> regions;
    write_.open_region();
    block(branch.then);
    regions.push_back(yielding_region());
    write_.open_region();
    regions.push_back(yielding_region());
    write_.op("scf.if", {condition}, std::move(regions));
  }
  void statement(const For& loop) {
    const Value begin = write_.integer(loop.begin), end = write_.integer(loop.end);
    const Value one = write_.op("arith.constant", {}, "value = 1 : i32", "i32");
    const Value index = write_.argument("i32");
    write_.open_region();
    write_.set_variable(loop.index, index);
    block(loop.body);
    Region region = yielding_region();
    region.arguments.push_back(index);
    std::vector<Region> regions;
    regions.push_back(std::move(region));
    write_.op("scf.for", {begin, end, one}, std::move(regions));
  }
  Region yielding_region() {
    write_.op("scf.yield", {}, std::string());
    return write_.close_region();
  }

  void statement(const Scope& scope) {
    write_.op("tpu.trace_start", {},
              cat("level = 10 : i32, message = ", string_literal(scope.name)));
    block(scope.body);
    write_.op("tpu.trace_stop", {}, std::string());
  }

  // The language numbers the places of values: "$0", "$1".
  void statement(const DebugPrint& print) {
    std::string text;
    std::vector<Value> values;
    for (std::size_t i = 0; i < print.text.size(); ++i) {
      const bool place = print.text.compare(i, 2, "{}") == 0 && values.size() < print.values.size();
      if (!place) {
        text += print.text[i];
        continue;
      }
      text += cat("$", values.size());
      values.push_back(write_.integer(print.values[values.size()]));
      ++i;
    }
    const bool formatted = !values.empty();
    write_.op("tpu.log", std::move(values),
              cat("formatted = ", formatted ? "true" : "false", ", tag = ", string_literal(text)));
  }

  const Program& program_;
  int version_;
  BlockWriter write_;
  std::vector<Memref> buffers_, semaphores_;
  std::vector<Value> vectors_;
  int num_operands_ = 0, num_scratch_ = 0;
};

void check_sayable(const Program& program, int version) {
  if (version < kOldestVersion || version > kNewestVersion) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("version ", version, " of Mosaic is not written here; give ", kOldestVersion,
                    " to ", kNewestVersion));
  }
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role == Role::kScratch && buffer.memory == Memory::kHbm) {
      throw Error(ErrorCode::kUnsupported, cat("scratch '", buffer.name,
                                               "' lies in HBM, where a kernel has operands and "
                                               "results only; make it an output"));
    }
    if (buffer.role == Role::kOutput && buffer.memory != Memory::kHbm) {
      throw Error(ErrorCode::kUnsupported, cat("output '", buffer.name, "' lies in ",
                                               memory_text(buffer.memory), "; outputs lie in HBM"));
    }
    if (buffer.role == Role::kInput && buffer.memory != Memory::kHbm && !program.grid.empty()) {
      throw Error(ErrorCode::kUnsupported,
                  cat("input '", buffer.name, "' lies in ", memory_text(buffer.memory),
                      ", which a kernel with a grid cannot have; loop over the table instead"));
    }
  }
}

}  // namespace

MosaicModule to_mosaic(const Program& program, int version) {
  check_sayable(program, version);
  return Lowering(program, version).run();
}

}  // namespace cmm::tpu::emit
