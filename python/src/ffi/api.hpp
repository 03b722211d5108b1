// What our handlers need of the XLA FFI C API (openxla/xla, xla/ffi/api/c_api.h), declared anew, so
// that building takes no jaxlib and one binary serves versions 0.1 (jax 0.6) to 0.3 (jax 0.10).
// tests/python/test_jax_cpu_api.py compares this file with the headers of the installed jaxlib.
//
// Structs begin with their size and only grow at their ends, with one exception: the calls for the
// state of a call site, which differ between all three versions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cmm::python::xla {

struct Error;
struct Context;  // of one execution
struct Future;

inline constexpr int kMajor = 0;
inline constexpr int kNewestMinor = 3;  // that this file knows

// Positions in the table of functions.
enum class Function : std::size_t {
  kErrorCreate = 0,
  kErrorMessage = 1,
  kErrorDestroy = 2,
  kTypeRegister = 5,
  kStateSet = 7,
  kStateGet = 8,
  kFutureCreate = 13,
  kFutureSetAvailable = 14,
  kFutureSetError = 15,
  kRunId = 16,
};

enum class ErrorCode : int {
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kResourceExhausted = 8,
  kInternal = 13,
};

enum class DataType : int { kS32 = 4, kS64 = 5, kF16 = 10, kF32 = 11, kBF16 = 16 };
enum class AttributeKind : int { kScalar = 3, kString = 4 };
enum class Stage : int { kInstantiate = 0, kExecute = 3 };

inline constexpr int kMetadataExtension = 1;

struct Extension {
  std::size_t struct_size;
  int kind;
  Extension* next;
};

struct Head {
  std::size_t struct_size;
  Extension* extensions;
};

struct Version {
  Head head;
  int major, minor;
};

struct Api {
  Head head;
  Version version;
  const void* internal;
  void* functions[1];  // as many as head.struct_size says
};

struct TypeId {
  std::int64_t id;
};
struct TypeInfo {  // from 0.2
  Head head;
  void (*destroy)(void* object);
};

struct Text {
  const char* data;
  std::size_t size;
};
struct Scalar {
  DataType dtype;
  void* value;
};
struct Buffer {
  Head head;
  DataType dtype;
  void* data;
  std::int64_t rank;
  std::int64_t* dims;
};

struct Buffers {  // arguments or results
  Head head;
  std::int64_t size;
  int* kinds;
  void** values;  // Buffer*
};
struct Attributes {
  Head head;
  std::int64_t size;
  AttributeKind* kinds;
  Text** names;
  void** values;  // Scalar* or Text*
};

struct CallFrame {
  Head head;
  const Api* api;
  Context* context;
  Stage stage;
  Buffers arguments;
  Buffers results;
  Attributes attributes;
  Future* future;  // result: complete only when this is
};

struct Metadata {
  std::size_t struct_size;
  Version version;
  std::uint32_t traits;
  TypeId state_type;  // from 0.2
};
struct MetadataExtension {
  Extension extension;
  Metadata* metadata;
};

// Arguments of each function.
struct ErrorCreate {
  Head head;
  const char* message;
  ErrorCode code;
};
struct ErrorMessage {
  Head head;
  Error* error;
  const char* message;  // result
};
struct ErrorDestroy {
  Head head;
  Error* error;
};
struct TypeRegister {
  Head head;
  Text name;
  TypeId* type;          // result, or what it must be
  const TypeInfo* info;  // from 0.2
};
struct StateSet1 {  // 0.1
  Head head;
  Context* context;
  TypeId* type;
  void* state;
  void (*destroy)(void* state);
};
struct StateSet2 {  // 0.2; the runtime knows how to destroy a state by its type
  Head head;
  Context* context;
  TypeId* type;
  void* state;
};
struct StateSet3 {  // 0.3
  Head head;
  Context* context;
  Stage stage;
  TypeId* type;
  void* state;
};
struct StateGet1 {  // 0.1 and 0.2
  Head head;
  Context* context;
  TypeId* type;
  void* state;  // result
};
struct StateGet3 {
  Head head;
  Context* context;
  Stage stage;  // that has set it
  TypeId* type;
  void* state;  // result
};
struct FutureCreate {
  Head head;
  Future* future;  // result
};
struct FutureSetAvailable {
  Head head;
  Future* future;
};
struct FutureSetError {
  Head head;
  Future* future;
  Error* error;  // the runtime's from here on
};
struct RunId {
  Head head;
  Context* context;
  std::int64_t run_id;  // result
};

}  // namespace cmm::python::xla
