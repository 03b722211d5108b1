// The XLA runtime as our handlers see it: errors, futures, the state of a call site, attributes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api.hpp"

namespace cmm::python::xla {

// Why a call failed, for every device that takes part in it.
struct Failure {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

// The exception in flight as a failure; to be called in a catch block.
Failure failure_in_flight();

Error* make_error(const Api& api, const Failure& failure);

// Where the runtime asks what a handler is (a frame with the metadata extension), answers and
// returns true; the handler must then return nullptr.
bool answer_metadata(CallFrame& frame, TypeId state_type);

// The state that a call site keeps between instantiation and the end of its executable. The runtime
// owns it once set. These throw std::runtime_error with the runtime's reason.
struct StateType {
  const char* name;
  TypeId* id;            // 0 until the runtime has given it one
  const TypeInfo* info;  // how it is destroyed
};
void register_type(const Api& api, const StateType& type);  // does nothing but the first time
void set_state(const CallFrame& frame, const StateType& type, void* state);
void* get_state(const CallFrame& frame, const StateType& type);

std::int64_t run_id(const CallFrame& frame);

Future* make_future(const Api& api);
// Exactly one of them, once. The rest of the device's program may run inside, on this thread. They
// do not fail: a runtime that refused its own future could be told nothing more.
void complete(const Api& api, Future* future);
void complete(const Api& api, Future* future, const Failure& failure);

// Attributes by name; throw std::runtime_error where there is none of the name and kind.
std::int64_t integer_attribute(const CallFrame& frame, std::string_view name);
std::string_view string_attribute(const CallFrame& frame, std::string_view name);

inline const Buffer& buffer(const Buffers& buffers, std::int64_t index) {
  return *static_cast<const Buffer*>(buffers.values[index]);
}

}  // namespace cmm::python::xla
