// Which statements of a kernel are run at all: a ring of two never passes on what it has received.
#pragma once

#include <vector>

#include "tpu/kernels/kernel.hpp"

namespace cmm::tpu {

// By number, in the order in which statements are written: whether any device comes to it, in a run
// of the kernel as it is. All of them where that run shows a fault.
std::vector<bool> statements_run(const Kernel& kernel, const Chip& chip);

}  // namespace cmm::tpu
