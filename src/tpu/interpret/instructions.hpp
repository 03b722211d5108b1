// A program as a flat list of instructions, so that a device can stop after any of them and go on
// later.
#pragma once

#include <vector>

#include "tpu/program.hpp"

namespace cmm::tpu {

struct Instruction {
  enum class Kind : std::uint8_t {
    kStatement,
    kIf,         // goes on at `target` where the condition does not hold
    kLoopBegin,  // goes on at `target` where there is nothing to do
    kLoopEnd,    // goes back to `target` unless that was the last time
    kEnd,        // of the body: the next point of the grid begins, or the kernel ends
  };
  Kind kind = Kind::kStatement;
  const Statement* statement = nullptr;  // of the program; null for kEnd
  int target = -1;
};

// Refers to the program's statements.
std::vector<Instruction> flatten(const Program& program);

}  // namespace cmm::tpu
