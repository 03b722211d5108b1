// Runs the worker: libtpu in a process of its own, with a deadline.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tpu/aot/message.hpp"

namespace cmm::tpu::aot {

struct WorkerOptions {
  std::string program;  // path of cmm-tpu-compile
  double timeout_seconds = 600;
  // Of the worker, on top of those of this process.
  std::vector<std::pair<std::string, std::string>> environment;
};

// Throws Error(kDeadline) where there is no reply in time, Error(kUnsupported) where the worker
// cannot be started or was ended by libtpu: the message has the last lines that it printed.
Message ask_worker(const Message& request, const WorkerOptions& options);

// Where the program is: `given`, else the environment variable CMM_TPU_COMPILER, else beside this
// program or the library, or in libexec/cmm beside their folder. Throws Error(kUnsupported).
std::string find_worker(const std::string& given);

// Where libtpu is: `given`, else the environment variable CMM_LIBTPU, else in a Python environment
// (VIRTUAL_ENV, CONDA_PREFIX, of the user, of the system). A folder stands for libtpu.so in it or
// in its subfolder libtpu. Throws Error(kUnsupported) that names all places.
std::string find_libtpu(const std::string& given);

}  // namespace cmm::tpu::aot
