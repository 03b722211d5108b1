// What happens to an output element between its f32 sum and its one rounding.
#pragma once

#include <cstdint>
#include <string_view>

namespace cmm {

// All are defined by our own arithmetic in f32 (docs/numerics.md), so that their bits do not
// depend on the instruction set.
enum class Activation : std::uint8_t { kNone, kRelu, kGeluTanh, kGeluErf, kSilu };

std::string_view activation_name(Activation activation);  // "none", "relu", "gelu_tanh", ...
Activation parse_activation(std::string_view name);       // throws Error(kInvalidArgument)

}  // namespace cmm
