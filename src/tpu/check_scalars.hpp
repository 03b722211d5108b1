// The scalars of a program, checked: what each is, and what it is made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "tpu/program.hpp"

namespace cmm::tpu {

// The first fault of a program, on its way to check_structure().
struct FoundInProgram {
  std::string text;
};
template <class... Parts>
[[noreturn]] void found(const Parts&... parts) {
  throw FoundInProgram{cat(parts...)};
}

// kBoth: the constants 0 and 1, which are integers as well as truth values.
enum class ScalarType : std::uint8_t { kInteger, kTruth, kBoth };

struct ScalarFacts {  // by number of the scalar
  std::vector<ScalarType> types;
  std::vector<std::vector<int>> variables;  // those it is made of, in ascending order
};

// Throws FoundInProgram where an operand has the wrong type or is not made before what it is part
// of, a constant does not fit 32 bits, or the grid has no such dimension.
ScalarFacts check_scalars(const Program& program);

}  // namespace cmm::tpu
