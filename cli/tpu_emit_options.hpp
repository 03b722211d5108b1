// The flags of `cmm tpu` that say how a kernel is written.
#pragma once

#include "cmm/tpu_compile.hpp"

namespace CLI {
class App;
}

namespace cmm::cli {

// --mosaic-version --bytecode --wrapper
void add_emit_options_to(CLI::App& app, tpu::EmitOptions& options);

}  // namespace cmm::cli
