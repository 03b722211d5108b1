// Operands of a kernel: made up, laid out for its devices, multiplied by a plain loop, and compared
// with what the devices put out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tpu/interpret/interpret.hpp"
#include "tpu/kernels/kernel.hpp"

namespace cmm::tpu {

// Of one ring of devices, of the extents that were asked for, row-major and without padding.
struct Operands {
  Array x;               // [m, k]
  std::vector<Array> y;  // [k, n] or transposed [n, k], n = P * cols, of each right side
};

// Small integers, so few and so small that every sum of products is exact in the type that sums
// have: the result does not depend on their order, and is rounded once where it is put out.
Operands make_operands(const Kernel& kernel, std::uint64_t seed);

// What a kernel makes of operands.
struct Results {
  std::vector<Array> out;  // [m, n] of each right side
  Array gathered;          // [m, k], where the kernel puts it out; else empty
};
// By a plain loop, rounded once as the kernel rounds.
Results plain_results(const Kernel& kernel, const Operands& operands);

// A mesh is cut into rings along the kernel's axis.
int num_rings(const Ring& ring);
struct PlaceOnRing {
  int ring = 0;
  int index = 0;  // 0 .. P - 1
};
PlaceOnRing place_on_ring(const Ring& ring, int device);

// inputs[device][i] for run(): the i-th input buffer, padded with zeros. Each ring has operands of
// its own.
std::vector<std::vector<Array>> lay_out(const Kernel& kernel, const std::vector<Operands>& rings);

// The results of each ring, put together from what the devices put out.
std::vector<Results> put_together(const Kernel& kernel,
                                  const std::vector<std::vector<Array>>& outputs);

// Operands of all rings, their layout, and the results they must have: made once for many runs.
class Expectation {
 public:
  Expectation(const Kernel& kernel, std::uint64_t seed);

  // Those of `kernel`: its table may be another than that of the kernel this was made for.
  std::vector<std::vector<Array>> inputs(const Kernel& kernel) const;
  // The first element that is wrong, by output, row and column, with its device.
  std::optional<Fault> compare(const Kernel& kernel,
                               const std::vector<std::vector<Array>>& outputs) const;

 private:
  std::vector<Operands> operands_;  // by ring
  std::vector<Results> results_;
};

}  // namespace cmm::tpu
