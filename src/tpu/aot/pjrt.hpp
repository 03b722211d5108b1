// What ahead-of-time compilation needs of the PJRT C API (openxla/xla, xla/pjrt/c/pjrt_c_api.h),
// declared anew. Structs and the table of functions only ever grow at their ends, so these fit
// every plugin from API 0.68 on: each struct begins with its size, by which the other side sees how
// much of it there is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cmm::tpu::aot::pjrt {

struct Error;
struct Topology;
struct Device;
struct Executable;
struct Client;

// Positions in the table of functions.
enum class Function : std::size_t {
  kErrorDestroy = 0,
  kErrorMessage = 1,
  kErrorGetCode = 2,
  kPluginInitialize = 3,
  kDeviceAttributes = 25,
  kExecutableDestroy = 40,
  kExecutableCodeBytes = 45,
  kExecutableSerialize = 49,
  kTopologyCreate = 82,
  kTopologyDestroy = 83,
  kTopologyVersion = 85,
  kTopologyDevices = 86,
  kCompile = 89,
  kExecutableFingerprint = 94,
  kExecutableMemory = 96,
};

struct Head {
  std::size_t struct_size;
  void* extensions;
};

struct Api {
  Head head;
  struct {
    Head head;
    int major, minor;
  } version;
  void* functions[1];  // as many as head.struct_size says
};
static_assert(offsetof(Api, functions) == 40);

struct Text {
  const char* data;
  std::size_t size;
};

enum class ValueType : int { kString = 0, kInt64 = 1, kInt64List = 2, kFloat = 3, kBool = 4 };
struct NamedValue {
  Head head;
  Text name;
  ValueType type;
  union {
    const char* string;
    std::int64_t integer;
    const std::int64_t* integers;
    float number;
    bool truth;
  };
  std::size_t value_size;
};
static_assert(sizeof(NamedValue) == 56);

struct Program {
  Head head;
  const char* code;
  std::size_t code_size;
  Text format;
};

// Arguments of each function.
struct ErrorDestroy {
  Head head;
  Error* error;
};
struct ErrorMessage {
  Head head;
  const Error* error;
  Text message;  // result
};
struct ErrorGetCode {
  Head head;
  const Error* error;
  int code;  // result
};
struct PluginInitialize {
  Head head;
};
struct DeviceAttributes {
  Head head;
  const Device* device;
  std::size_t num_attributes;    // result
  const NamedValue* attributes;  // result
};
struct ExecutableDestroy {
  Head head;
  Executable* executable;
};
struct ExecutableCodeBytes {
  Head head;
  Executable* executable;
  std::int64_t bytes;  // result
};
struct ExecutableSerialize {
  Head head;
  const Executable* executable;
  Text bytes;                    // result
  void* owner;                   // result
  void (*destroy)(void* owner);  // result
};
struct TopologyCreate {
  Head head;
  Text name;
  const NamedValue* options;
  std::size_t num_options;
  Topology* topology;  // result
};
struct TopologyDestroy {
  Head head;
  Topology* topology;
};
struct TopologyVersion {
  Head head;
  const Topology* topology;
  Text version;  // result
};
struct TopologyDevices {
  Head head;
  const Topology* topology;
  const Device* const* devices;  // result
  std::size_t num_devices;       // result
};
struct Compile {
  Head head;
  const Topology* topology;
  const Program* program;
  Text options;
  Client* client;          // none
  Executable* executable;  // result
};
struct ExecutableFingerprint {
  Head head;
  const Executable* executable;
  Text fingerprint;  // result
};
// Of the device: code, arguments, outputs, aliased, temporary; of the host the same; peak and
// more, which older plugins leave 0.
struct ExecutableMemory {
  Head head;
  const Executable* executable;
  std::int64_t bytes[15];  // result
};

}  // namespace cmm::tpu::aot::pjrt
