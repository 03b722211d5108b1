// One verdict on a kernel from many runs on virtual devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tpu/interpret/interpret.hpp"
#include "tpu/kernels/kernel.hpp"
#include "tpu/operands.hpp"

namespace cmm::tpu {

struct VerifyOptions {
  std::uint64_t seed = 1;
  int num_interleavings = 32;  // random ones, on top of a fixed set: see runs_of()
  bool check_races = true;     // false: only what goes wrong in a run is seen, not what could
  std::int64_t max_steps = 0;  // statements of all devices in a call; 0: as many as it takes
};

struct Verdict {
  std::optional<Fault> fault;  // the first
  RunOptions options;          // of the run that showed it: enough to see it again
  int num_runs = 0;
  // No run at all can show a fault, of any number of calls: two calls in which all was right can
  // be ordered in no other way, as far as order is needed (RunResult::may_differ).
  bool proved = false;
  double seconds = 0;
};

// The runs of verify(), in order. First each mode of copies with all devices alike, then each
// device late, then two calls back to back with each device late, then random interleavings.
std::vector<RunOptions> runs_of(const Kernel& kernel, const VerifyOptions& options);

// "copies at random times, device 2 late, 2 calls, seed 17"
std::string run_text(const RunOptions& options);

// Checks what can be seen without running the kernel, then runs it until a run shows a fault. The
// operands are those of Expectation with the seed: the results must match in every bit.
Verdict verify(const Kernel& kernel, const Chip& chip, const VerifyOptions& options);
// The same with operands that are at hand, of the extents that `kernel` has.
Verdict verify(const Kernel& kernel, const Chip& chip, const VerifyOptions& options,
               const Expectation& expectation);

}  // namespace cmm::tpu
