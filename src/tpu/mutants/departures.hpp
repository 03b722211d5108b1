// Departures and stores that are counted by other semaphores than those that are awaited for them.
#pragma once

#include "tpu/mutants.hpp"

namespace cmm::tpu {

// Whether the mutant, of a table-driven kernel without credits, lets sends count on other
// departure semaphores of their array, and each wait still finds one: a replay of the table.
bool exchanges_departures(const Kernel& kernel, const Mutant& mutant);

// Whether the mutant, of a table-driven kernel, lets stores of one kind count on other semaphores
// of the out slots of a body, each of which is stored once and awaited when the kernel ends.
bool exchanges_stores(const Kernel& kernel, const Mutant& mutant);

}  // namespace cmm::tpu
