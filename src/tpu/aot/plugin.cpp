#include "tpu/aot/plugin.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace cmm::tpu::aot {
namespace {

constexpr int kUnknown = 2;  // code of an error that is ours

std::string text_of(pjrt::Text text) { return {text.data, text.size}; }
pjrt::Text text_of(std::string_view text) { return {text.data(), text.size()}; }

void* entry(const pjrt::Api& api, pjrt::Function function) {
  return api.functions[static_cast<std::size_t>(function)];
}

// Frees the error.
PluginError taken(const pjrt::Api& api, pjrt::Error* error) {
  PluginError result;
  pjrt::ErrorMessage message{.head = {sizeof message, nullptr}, .error = error, .message = {}};
  reinterpret_cast<void (*)(pjrt::ErrorMessage*)>(entry(api, pjrt::Function::kErrorMessage))(
      &message);
  result.message = text_of(message.message);
  pjrt::ErrorGetCode code{.head = {sizeof code, nullptr}, .error = error, .code = kUnknown};
  reinterpret_cast<pjrt::Error* (*)(pjrt::ErrorGetCode*)>(
      entry(api, pjrt::Function::kErrorGetCode))(&code);
  result.code = code.code;
  pjrt::ErrorDestroy destroy{.head = {sizeof destroy, nullptr}, .error = error};
  reinterpret_cast<void (*)(pjrt::ErrorDestroy*)>(entry(api, pjrt::Function::kErrorDestroy))(
      &destroy);
  return result;
}

}  // namespace

template <class Arguments>
void Plugin::call(pjrt::Function function, Arguments& arguments) const {
  arguments.head = {sizeof arguments, nullptr};
  auto* const called = reinterpret_cast<pjrt::Error* (*)(Arguments*)>(entry(*api_, function));
  if (pjrt::Error* const error = called(&arguments)) throw taken(*api_, error);
}

Plugin::Plugin(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw PluginError{kUnknown, cat("it cannot be loaded: ", dlerror())};
  using GetApi = const pjrt::Api* (*)();
  const auto get_api = reinterpret_cast<GetApi>(dlsym(library, "GetPjrtApi"));
  if (get_api == nullptr) throw PluginError{kUnknown, "it has no function GetPjrtApi"};
  api_ = get_api();
  const std::size_t needed =
      offsetof(pjrt::Api, functions) +
      (static_cast<std::size_t>(pjrt::Function::kExecutableMemory) + 1) * sizeof(void*);
  if (api_->head.struct_size < needed) {
    throw PluginError{kUnknown, cat("its PJRT API 0.", api_->version.minor, " is too old")};
  }
  pjrt::PluginInitialize initialize{};
  call(pjrt::Function::kPluginInitialize, initialize);
}

Plugin::~Plugin() {
  if (topology_ == nullptr) return;
  pjrt::TopologyDestroy destroy{{sizeof destroy, nullptr}, topology_};
  reinterpret_cast<pjrt::Error* (*)(pjrt::TopologyDestroy*)>(
      entry(*api_, pjrt::Function::kTopologyDestroy))(&destroy);
}

void Plugin::set_topology(std::string_view name) {
  pjrt::TopologyCreate create{};
  create.name = text_of(name);
  call(pjrt::Function::kTopologyCreate, create);
  topology_ = create.topology;
}

std::string Plugin::version() const {
  pjrt::TopologyVersion version{};
  version.topology = topology_;
  call(pjrt::Function::kTopologyVersion, version);
  return text_of(version.version);
}

std::vector<DeviceAt> Plugin::devices() const {
  pjrt::TopologyDevices all{};
  all.topology = topology_;
  call(pjrt::Function::kTopologyDevices, all);
  std::vector<DeviceAt> devices;
  for (std::size_t i = 0; i < all.num_devices; ++i) {
    pjrt::DeviceAttributes attributes{};
    attributes.device = all.devices[i];
    call(pjrt::Function::kDeviceAttributes, attributes);
    DeviceAt at;
    for (std::size_t j = 0; j < attributes.num_attributes; ++j) {
      const pjrt::NamedValue& value = attributes.attributes[j];
      const std::string name = text_of(value.name);
      if (name == "coords" && value.type == pjrt::ValueType::kInt64List) {
        std::copy_n(value.integers, std::min(value.value_size, at.chip.size()), at.chip.begin());
      }
      if (name == "core_on_chip" && value.type == pjrt::ValueType::kInt64) at.core = value.integer;
    }
    devices.push_back(std::move(at));
  }
  return devices;
}

Plugin::Compiled Plugin::compile(std::string_view module, std::string_view options) const {
  pjrt::Program program{.head = {sizeof program, nullptr},
                        .code = module.data(),
                        .code_size = module.size(),
                        .format = text_of("mlir")};
  pjrt::Compile compile{};
  compile.topology = topology_;
  compile.program = &program;
  compile.options = text_of(options);
  call(pjrt::Function::kCompile, compile);

  Compiled compiled;
  pjrt::ExecutableFingerprint fingerprint{};
  fingerprint.executable = compile.executable;
  call(pjrt::Function::kExecutableFingerprint, fingerprint);
  compiled.fingerprint = text_of(fingerprint.fingerprint);

  pjrt::ExecutableCodeBytes code{};
  code.executable = compile.executable;
  call(pjrt::Function::kExecutableCodeBytes, code);
  compiled.code_bytes = code.bytes;

  pjrt::ExecutableMemory memory{};
  memory.executable = compile.executable;
  call(pjrt::Function::kExecutableMemory, memory);
  compiled.argument_bytes = memory.bytes[1];
  compiled.output_bytes = memory.bytes[2];
  compiled.temporary_bytes = memory.bytes[4];

  pjrt::ExecutableSerialize serialize{};
  serialize.executable = compile.executable;
  call(pjrt::Function::kExecutableSerialize, serialize);
  compiled.executable = text_of(serialize.bytes);
  if (serialize.destroy != nullptr) serialize.destroy(serialize.owner);

  pjrt::ExecutableDestroy destroy{};
  destroy.executable = compile.executable;
  call(pjrt::Function::kExecutableDestroy, destroy);
  return compiled;
}

}  // namespace cmm::tpu::aot
