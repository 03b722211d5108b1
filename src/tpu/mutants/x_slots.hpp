// Which rows of x lie in which slot, where a table says what is loaded into slots: a replay of it.
#pragma once

#include <string>

#include "tpu/mutants.hpp"

namespace cmm::tpu {

// No x slot of a table-driven kernel is filled twice: they are not used in turn.
bool fills_x_slots_once(const Kernel& kernel);

// The buffer is the out slots of a body of which the last one is never used.
bool leaves_last_out_slot(const Kernel& kernel, const std::string& buffer);

// A product reads another x slot, in which the same rows lie and have been awaited.
bool reads_the_same_rows(const Kernel& kernel, const Mutant& mutant);

// One x slot less, and still every load comes after the last product of what it overwrites.
bool loads_after_last_products(const Kernel& kernel, const Mutant& mutant);

}  // namespace cmm::tpu
