// Kernels as small as can be that together have every kind of statement.
#pragma once

#include <string>
#include <vector>

#include "tpu/kernels/kernel.hpp"

namespace cmm::tpu::test {

struct SmallKernel {
  std::string name;  // of its golden text, too
  Kernel kernel;
  Chip chip;
};

// The reference kernel; the same transposed and with k in blocks; the wavefront kernel; the same
// with x through HBM, k in blocks, gathered x, two right sides and debugging prints.
std::vector<SmallKernel> small_kernels();

}  // namespace cmm::tpu::test
