// The flags of `cmm tpu` that say how a kernel is written and with what it is compiled.
#pragma once

#include "cmm/tpu_compile.hpp"

namespace CLI {
class App;
}

namespace cmm::cli {

// --mosaic-version --bytecode --bounds-checks --wrapper
void add_emit_options_to(CLI::App& app, tpu::EmitOptions& options);

// --libtpu --timeout
void add_libtpu_to(CLI::App& app, tpu::CompileOptions& options);

}  // namespace cmm::cli
