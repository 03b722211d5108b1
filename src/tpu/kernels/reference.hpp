// The reference kernel: the schedule of vllm-project/tpu-inference's all_gather_matmul, step for
// step, as docs/tpu.md describes it. x halves go round the ring through HBM, one slot a hop, a hop
// behind the product; all of y is on the chip. Sums are rounded once, to the type of x: of an int8
// product only the low 8 bits of each sum come back, as from the reference.
#pragma once

#include <string>

#include "tpu/kernels/kernel.hpp"

namespace cmm::tpu {

struct ReferenceOptions {
  Ring ring;
  std::int64_t m = 0;  // global extents
  std::int64_t k = 0;
  std::int64_t n = 0;
  Element element = Element::kBF16;
  std::int64_t bn = 0;  // block sizes; must divide n / P and k
  std::int64_t bk = 0;
  bool rhs_transposed = false;
  int collective_id = 0;
  bool debug = false;  // every device prints each phase
};

// What the reference kernel refuses, and what it takes and then gets wrong (blocks that leave a
// rest, a single device, more than the chip holds), in words: the values and what would be right.
// Nothing where it accepts and is right.
std::string why_not_reference(const ReferenceOptions& options, const Chip& chip);

// Throws Error(kInvalidArgument) with why_not_reference().
Kernel reference_kernel(const ReferenceOptions& options, const Chip& chip);

std::string reference_name(const ReferenceOptions& options);
// VMEM of its buffers: 2 m/P k + k n/P + 2 m/P bn elements and the accumulator where bk < k.
std::int64_t reference_vmem_bytes(const ReferenceOptions& options, const Chip& chip);

}  // namespace cmm::tpu
