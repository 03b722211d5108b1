// The CompileOptionsProto of XLA (openxla/xla, xla/pjrt/proto/compile_options.proto), as far as it
// is needed, serialized by hand.
#pragma once

#include <span>
#include <string>

#include "tpu/emit/stablehlo.hpp"

namespace cmm::tpu::aot {

// `assignment`: the device of the slice for each device of the mesh.
std::string compile_options(emit::Wrapper wrapper, std::span<const int> assignment);

}  // namespace cmm::tpu::aot
