// What the process ends with; docs/tool.md explains the codes to users.
#pragma once

#include <optional>

#include "cmm/error.hpp"
#include "reference_product.hpp"

namespace cmm::cli {

inline constexpr int kDone = 0;
inline constexpr int kWrongResult = 1;
inline constexpr int kWrongArguments = 2;
inline constexpr int kOutsideWorld = 3;

inline int exit_code_of(ErrorCode code) {
  return code == ErrorCode::kInvalidArgument || code == ErrorCode::kUnsupported ? kWrongArguments
                                                                                : kOutsideWorld;
}

// Of a comparison of all outputs; unset where none was asked for.
inline int exit_code_of(const std::optional<Comparison>& check) {
  return check && check->mismatches > 0 ? kWrongResult : kDone;
}

}  // namespace cmm::cli
