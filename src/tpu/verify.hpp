// One verdict on a kernel from many runs on virtual devices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tpu/interpret/interpret.hpp"
#include "tpu/kernels/kernel.hpp"

namespace cmm::tpu {

struct VerifyOptions {
  std::uint64_t seed = 1;
  int num_interleavings = 32;  // random ones, on top of the fixed set below
  bool stop_at_first = true;
};

// The fixed set: each copy mode with all devices alike, each device late in turn, two calls back
// to back with each device late.
struct Verdict {
  std::optional<Fault> fault;
  RunOptions options;  // of the run that showed it: enough to see it again
  int num_runs = 0;
  double seconds = 0;
};

// Operands are small integers, so that the right result does not depend on the order of sums and
// must match in every bit: all_gather(x) y by a plain loop, rounded as the kernel rounds.
Verdict verify(const Kernel& kernel, const Chip& chip, const VerifyOptions& options);

// The inputs of all devices for x [m, k] and y [k, n] (each right side, of all devices), padded;
// and what the outputs of a run say: the first element that is wrong, in words, or nothing.
std::vector<std::vector<Array>> make_inputs(const Kernel& kernel, std::uint64_t seed);
std::string compare(const Kernel& kernel, const std::vector<std::vector<Array>>& inputs,
                    const std::vector<std::vector<Array>>& outputs);

}  // namespace cmm::tpu
