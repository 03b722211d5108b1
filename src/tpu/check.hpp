// The two halves of check_program().
#pragma once

#include <string>

#include "tpu/program.hpp"

namespace cmm::tpu {

// All that does not depend on the chip: whoever walks a program in which this finds no fault needs
// to check no number and no type.
std::string check_structure(const Program& program);

// Constant offsets and sizes are whole tiles of the chip. The structure must be sound.
std::string check_tiles(const Program& program, const Chip& chip);

}  // namespace cmm::tpu
