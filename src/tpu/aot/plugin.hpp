// libtpu, loaded into this process. It can end the process: only the worker does this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tpu/aot/device_at.hpp"
#include "tpu/aot/pjrt.hpp"

namespace cmm::tpu::aot {

// An error of the plugin, with its code as PJRT numbers them.
struct PluginError {
  int code = 0;
  std::string message;
};

class Plugin {
 public:
  // Throws PluginError.
  explicit Plugin(const std::string& path);
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  ~Plugin();

  int api_minor() const { return api_->version.minor; }

  // The slice to compile for. Throws PluginError.
  void set_topology(std::string_view name);
  std::string version() const;            // of the topology's platform
  std::vector<DeviceAt> devices() const;  // by number

  struct Compiled {
    std::string fingerprint;
    std::string executable;  // serialized
    std::int64_t code_bytes = 0;
    std::int64_t argument_bytes = 0, output_bytes = 0, temporary_bytes = 0;
  };
  // `module` is StableHLO as text, `options` a serialized CompileOptionsProto. Throws PluginError.
  Compiled compile(std::string_view module, std::string_view options) const;

 private:
  template <class Arguments>
  void call(pjrt::Function function, Arguments& arguments) const;

  const pjrt::Api* api_ = nullptr;
  pjrt::Topology* topology_ = nullptr;
};

}  // namespace cmm::tpu::aot
