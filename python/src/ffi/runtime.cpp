#include "runtime.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>

#include "cmm/error.hpp"

namespace cmm::python::xla {
namespace {

// The version that both sides speak.
int minor_of(const Api& api) { return std::min(api.version.minor, kNewestMinor); }

template <class Arguments>
void set_size(Arguments& arguments) {
  arguments.head.struct_size = sizeof arguments;
}

template <class Arguments>
Error* call(const Api& api, Function function, Arguments& arguments) {
  set_size(arguments);
  using Entry = Error* (*)(Arguments*);
  return reinterpret_cast<Entry>(api.functions[static_cast<std::size_t>(function)])(&arguments);
}

void destroy(const Api& api, Error* error) {
  if (error == nullptr) return;
  ErrorDestroy arguments{.head = {}, .error = error};
  set_size(arguments);
  reinterpret_cast<void (*)(ErrorDestroy*)>(
      api.functions[static_cast<std::size_t>(Function::kErrorDestroy)])(&arguments);
}

void check(const Api& api, Error* error) {
  if (error == nullptr) return;
  ErrorMessage reason{.head = {}, .error = error, .message = nullptr};
  set_size(reason);
  reinterpret_cast<void (*)(ErrorMessage*)>(
      api.functions[static_cast<std::size_t>(Function::kErrorMessage)])(&reason);
  const std::string message = reason.message != nullptr ? reason.message : "no reason given";
  destroy(api, error);
  throw std::runtime_error("the XLA runtime refused a call: " + message);
}

const void* attribute(const CallFrame& frame, std::string_view name, AttributeKind kind) {
  const Attributes& attributes = frame.attributes;
  for (std::int64_t i = 0; i < attributes.size; ++i) {
    const Text& text = *attributes.names[i];
    if (std::string_view(text.data, text.size) == name && attributes.kinds[i] == kind) {
      return attributes.values[i];
    }
  }
  throw std::runtime_error("the call has no attribute " + std::string(name));
}

ErrorCode code_of(cmm::ErrorCode code) {
  switch (code) {
    case cmm::ErrorCode::kInvalidArgument:
      return ErrorCode::kInvalidArgument;
    case cmm::ErrorCode::kDeadline:
      return ErrorCode::kDeadlineExceeded;
    case cmm::ErrorCode::kOutOfMemory:
      return ErrorCode::kResourceExhausted;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace

Failure failure_in_flight() {
  try {
    throw;
  } catch (const cmm::Error& error) {
    return {code_of(error.code()), error.what()};
  } catch (const std::bad_alloc&) {
    return {ErrorCode::kResourceExhausted, "no memory for the call"};
  } catch (const std::exception& error) {
    return {ErrorCode::kInternal, error.what()};
  } catch (...) {
    return {ErrorCode::kInternal, "an exception of unknown type"};
  }
}

Error* make_error(const Api& api, const Failure& failure) {
  const std::string message = "collective_matmul: " + failure.message;
  ErrorCreate arguments{.head = {}, .message = message.c_str(), .code = failure.code};
  return call(api, Function::kErrorCreate, arguments);
}

bool answer_metadata(CallFrame& frame, TypeId state_type) {
  Extension* const extension = frame.head.extensions;
  if (extension == nullptr || extension->kind != kMetadataExtension) return false;
  Metadata& metadata = *reinterpret_cast<MetadataExtension*>(extension)->metadata;
  metadata.version.major = kMajor;
  // Runtimes of version 0.1 ask without saying what they are.
  metadata.version.minor = frame.api != nullptr ? minor_of(*frame.api) : 1;
  metadata.traits = 0;
  if (metadata.struct_size >= offsetof(Metadata, state_type) + sizeof(TypeId)) {
    metadata.state_type = state_type;
  }
  return true;
}

void register_type(const Api& api, const StateType& type) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (type.id->id != 0) return;
  TypeRegister arguments{
      .head = {}, .name = {type.name, std::strlen(type.name)}, .type = type.id, .info = type.info};
  check(api, call(api, Function::kTypeRegister, arguments));
}

void set_state(const CallFrame& frame, const StateType& type, void* state) {
  const Api& api = *frame.api;
  Error* error = nullptr;
  if (minor_of(api) >= 3) {
    StateSet3 arguments{.head = {},
                        .context = frame.context,
                        .stage = frame.stage,
                        .type = type.id,
                        .state = state};
    error = call(api, Function::kStateSet, arguments);
  } else if (minor_of(api) == 2) {
    StateSet2 arguments{.head = {}, .context = frame.context, .type = type.id, .state = state};
    error = call(api, Function::kStateSet, arguments);
  } else {
    StateSet1 arguments{.head = {},
                        .context = frame.context,
                        .type = type.id,
                        .state = state,
                        .destroy = type.info->destroy};
    error = call(api, Function::kStateSet, arguments);
  }
  check(api, error);
}

void* get_state(const CallFrame& frame, const StateType& type) {
  const Api& api = *frame.api;
  if (minor_of(api) >= 3) {
    StateGet3 arguments{.head = {},
                        .context = frame.context,
                        .stage = Stage::kInstantiate,
                        .type = type.id,
                        .state = nullptr};
    check(api, call(api, Function::kStateGet, arguments));
    return arguments.state;
  }
  StateGet1 arguments{.head = {}, .context = frame.context, .type = type.id, .state = nullptr};
  check(api, call(api, Function::kStateGet, arguments));
  return arguments.state;
}

std::int64_t run_id(const CallFrame& frame) {
  RunId arguments{.head = {}, .context = frame.context, .run_id = 0};
  check(*frame.api, call(*frame.api, Function::kRunId, arguments));
  return arguments.run_id;
}

Future* make_future(const Api& api) {
  FutureCreate arguments{.head = {}, .future = nullptr};
  check(api, call(api, Function::kFutureCreate, arguments));
  return arguments.future;
}

void complete(const Api& api, Future* future) {
  FutureSetAvailable arguments{.head = {}, .future = future};
  destroy(api, call(api, Function::kFutureSetAvailable, arguments));
}

void complete(const Api& api, Future* future, const Failure& failure) {
  FutureSetError arguments{.head = {}, .future = future, .error = make_error(api, failure)};
  destroy(api, call(api, Function::kFutureSetError, arguments));
}

std::int64_t integer_attribute(const CallFrame& frame, std::string_view name) {
  const auto& scalar = *static_cast<const Scalar*>(attribute(frame, name, AttributeKind::kScalar));
  if (scalar.dtype != DataType::kS64) {
    throw std::runtime_error("attribute " + std::string(name) + " must be of type int64");
  }
  return *static_cast<const std::int64_t*>(scalar.value);
}

std::string_view string_attribute(const CallFrame& frame, std::string_view name) {
  const auto& text = *static_cast<const Text*>(attribute(frame, name, AttributeKind::kString));
  return {text.data, text.size};
}

}  // namespace cmm::python::xla
