#include "cmm/epilogue.hpp"

#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm {

std::string_view activation_name(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return "none";
    case Activation::kRelu:
      return "relu";
    case Activation::kGeluTanh:
      return "gelu_tanh";
    case Activation::kGeluErf:
      return "gelu_erf";
    case Activation::kSilu:
      return "silu";
  }
  return "unknown";
}

Activation parse_activation(std::string_view name) {
  for (Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGeluTanh,
                                Activation::kGeluErf, Activation::kSilu}) {
    if (name == activation_name(activation)) return activation;
  }
  throw Error(
      ErrorCode::kInvalidArgument,
      cat("unknown activation '", name, "'; known are none, relu, gelu_tanh, gelu_erf, silu"));
}

}  // namespace cmm
