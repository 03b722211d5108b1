// The program of one TPU device: a kernel as a value. It is interpreted on virtual devices and
// emitted as a real kernel, so it holds what the real kernel language has and nothing else.
//
// Scalars are 32-bit integers or truth values, pure expressions of constants, the device's number,
// the grid and loop indices and what has been read from SMEM. Vectors are values of static shape.
// Both are numbered; a statement that makes one names the number. Buffers are addressed by slices
// whose offsets are scalars; copies between memories run beside the program and are awaited.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cmm/tpu_chip.hpp"

namespace cmm::tpu {

enum class Memory : std::uint8_t { kHbm, kVmem, kSmem };
enum class Role : std::uint8_t { kInput, kOutput, kScratch };

inline constexpr int kMaxRank = 6;  // dimensions of a buffer

struct Buffer {
  std::string name = {};
  Memory memory = Memory::kHbm;
  Element element = Element::kF32;
  std::vector<std::int64_t> shape = {};
  Role role = Role::kScratch;
};

// kDma counts bytes that have been moved. kRegular counts signals; kBarrier too, but there is one,
// known by the program's collective_id, and it lives outside the kernel: a neighbour that has not
// entered yet can be signalled. All are 0 when the kernel begins and must be 0 when it ends.
enum class SemaphoreKind : std::uint8_t { kDma, kRegular, kBarrier };
struct SemaphoreArray {
  std::string name = {};
  SemaphoreKind kind = SemaphoreKind::kDma;
  std::vector<std::int64_t> shape = {};  // {} for a single one
};

struct Scalar {
  int id = -1;
  bool known() const { return id >= 0; }
  friend bool operator==(Scalar, Scalar) = default;
};
struct Vector {
  int id = -1;
};

enum class ScalarOp : std::uint8_t {
  kConstant,   // immediate
  kDeviceId,   // number of this device in the mesh, row-major
  kGridIndex,  // immediate: the dimension of the grid
  kVariable,   // a loop's index, or what ReadScalar has read
  kAdd,
  kSub,
  kMul,
  kDiv,
  kRem,  // truncate; operands are never negative where it matters
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,  // of integers
  kAnd,
  kOr,      // of truth values
  kSelect,  // a ? b : c
};
struct ScalarNode {
  ScalarOp op = ScalarOp::kConstant;
  std::int64_t immediate = 0;
  Scalar a = {}, b = {}, c = {};
};

struct VectorType {
  Element element = Element::kF32;
  std::vector<std::int64_t> shape;
  friend bool operator==(const VectorType&, const VectorType&) = default;
};

// The box of `sizes` at `offsets`; its first `num_squeezed` dimensions, of size 1, are dropped.
struct Slice {
  int buffer = -1;
  std::vector<Scalar> offsets;      // one per dimension
  std::vector<std::int64_t> sizes;  // one per dimension
  int num_squeezed = 0;
};
struct SemaphoreRef {
  int array = -1;
  std::vector<Scalar> index = {};  // one per dimension of the array
};

struct Statement;
using Block = std::vector<Statement>;

// Source and target have equal shapes (after squeezing) and elements. A remote copy adds its bytes
// to `departure` here as the source is read and to `arrival` there as the target is written; the
// target and `arrival` are names on the device it goes to. A local copy has `arrival` only.
struct StartCopy {
  Slice source, target;
  SemaphoreRef arrival;
  struct Remote {
    Scalar device;
    SemaphoreRef departure;
  };
  std::optional<Remote> remote = {};
};
// Waits until the semaphore has as many bytes as the slices have, and takes them. It need not
// repeat the offsets of the copy: only the semaphore and the number of bytes count.
struct AwaitCopy {
  enum class Side : std::uint8_t { kLocal, kDeparture, kArrival };
  Side side = Side::kLocal;
  SemaphoreRef semaphore;
  Slice source, target;
  Scalar device =
      {};  // of an arrival: where it comes from goes unchecked, but the real language asks
};
struct Signal {
  SemaphoreRef semaphore;
  Scalar amount;
  Scalar device = {};  // unknown: this one
};
struct Await {  // waits until the count is at least `amount`, and takes it
  SemaphoreRef semaphore;
  Scalar amount;
};
struct ReadScalar {
  Scalar result;    // a kVariable
  int buffer = -1;  // in SMEM
  std::vector<Scalar> index;
};

struct LoadVector {
  Vector result;
  Slice from;  // in VMEM
};
struct StoreVector {
  Vector value;
  Slice to;  // in VMEM
};
struct ZeroVector {
  Vector result;
};
// result [a, b] = lhs [a, c] · rhs [c, b], or · rhs [b, c] where rhs_transposed; f32 or int32.
struct Matmul {
  Vector result, lhs, rhs;
  bool rhs_transposed = false;
};
struct AddVectors {
  Vector result, a, b;
};
struct SelectVector {  // condition ? a : b
  Vector result;
  Scalar condition;
  Vector a, b;
};
struct CastVector {  // f32 to a float type, to nearest even; int32 to int8 drops high bits
  Vector result, from;
};
struct ReshapeVector {
  Vector result, from;
};

struct If {
  Scalar condition;
  Block then;
};
struct For {  // index = begin, begin + 1, ..., end - 1
  Scalar index, begin, end;
  Block body;
};
struct Scope {  // a name that a profiler shows
  std::string name;
  Block body;
};
struct DebugPrint {
  std::string text;  // "{}" stands for the next value
  std::vector<Scalar> values;
};

struct Statement {
  std::variant<StartCopy, AwaitCopy, Signal, Await, ReadScalar, LoadVector, StoreVector, ZeroVector,
               Matmul, AddVectors, SelectVector, CastVector, ReshapeVector, If, For, Scope,
               DebugPrint>
      what;
  // What the statement is for, in words of the schedule: an index into Program::notes, kNoNote.
  int note = -1;
};

struct Cost {  // of one device
  std::int64_t flops = 0;
  std::int64_t hbm_bytes = 0;
  std::int64_t remote_bytes = 0;  // sent
};

struct Program {
  std::string name;  // of the kernel
  std::vector<Buffer> buffers;
  std::vector<SemaphoreArray> semaphores;
  std::vector<ScalarNode> scalars;
  std::vector<VectorType> vectors;
  std::vector<std::int64_t> grid;  // walked in order, the last dimension fastest; {}: once
  Block body;
  std::vector<std::string> notes;
  int num_devices = 1;               // of the whole mesh
  std::optional<int> collective_id;  // where there is a barrier semaphore
  Cost cost;
};

// What an If, For or Scope holds; null of any other statement.
Block* body_of(Statement& statement);
const Block* body_of(const Statement& statement);

// Calls `visit` with each statement and its number, in the order they are written: an If, For or
// Scope before what it holds.
void for_each_statement(Block& block, const std::function<void(Statement&, int number)>& visit);
void for_each_statement(const Block& block,
                        const std::function<void(const Statement&, int number)>& visit);

// The program as text, for people: one line a statement, indented, with the notes.
std::string to_text(const Program& program);

// What can be seen without running it: types, shapes, ranks, roles and memories fit, every number
// is made before it is used, constant slices lie inside their buffers and begin and end at tiles of
// the chip, a barrier semaphore has its collective_id. The first fault in words, or nothing.
std::string check_program(const Program& program, const Chip& chip);

// VMEM of all scratch, each buffer padded to the chip's tiles.
std::int64_t vmem_bytes(const Program& program, const Chip& chip);

// Semaphores of the kernel itself: all but the barrier, which lives outside.
std::int64_t num_semaphores(const Program& program);

}  // namespace cmm::tpu
