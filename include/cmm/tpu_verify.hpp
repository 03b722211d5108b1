// Kernels run on virtual devices that are nastier than real ones, with real data: copies progress
// in random pieces, or only when somebody waits; any device can be late; scratch is poisoned.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cmm/tpu_kernel.hpp"

namespace cmm::tpu {

struct VerificationOptions {
  std::uint64_t seed = 1;
  int num_interleavings = 32;  // random ones, on top of a fixed set of nasty ones
};

struct Verification {
  bool right = false;
  // Not only these runs: whoever goes first and however copies progress, no run can differ.
  bool proved = false;
  // Of the first run that went wrong: "race", "deadlock", "wrong element", ...; what happened, of a
  // deadlock with a table of who waits for what; and how that run was made.
  std::string fault;
  std::string text;
  std::string run;
  std::string mutant;  // of verify_mutant(): the fault that was put in
  KernelDescription kernel;
  int num_runs = 0;
  double seconds = 0;
};

// kAuto as of describe(): nothing is compared.
Verification verify(const Problem& problem, const Chip& chip, const KernelOptions& options = {},
                    const VerificationOptions& how = {});

// A kernel of a sweep over shapes, types and families: see sweep().
struct SweepCase {
  std::string name;  // "wavefront bf16 P=3 m=50 k=200 n=390 transposed"
  Problem problem;
  KernelOptions options;
};
// P = 1 .. 9, all element types, ragged extents, both families, transposed and gathered, several
// right sides, rings with credits, x through HBM, k in blocks, axes of meshes; all fit `chip`.
std::vector<SweepCase> sweep(const Chip& chip);

// All small faults of a kernel, one at a time: is each seen?
struct MutantResult {
  int number = 0;    // of the faults of this kernel, from 0
  std::string name;  // "drop await arrival at step 3 (forward hop 1 piece 0)"
  std::string kind;  // "drop start", "swap neighbours", ...
  bool caught = false;
  std::string cause;       // where caught: the fault, in words
  std::string run;         // and the run that showed it, "" where it was seen without one
  std::string equivalent;  // else why the fault changes nothing that anyone could see, or ""
  int num_runs = 0;
  bool missed() const { return !caught && equivalent.empty(); }
};
// `progress` hears of each as it is done, with how many there are.
std::vector<MutantResult> try_all_mutants(
    const Problem& problem, const Chip& chip, const KernelOptions& options = {},
    const VerificationOptions& how = {},
    const std::function<void(int done, int all)>& progress = {});

// The verdict on the kernel with one of them. Throws Error(kInvalidArgument) where there is no
// fault of that number.
Verification verify_mutant(const Problem& problem, const Chip& chip, const KernelOptions& options,
                           int number, const VerificationOptions& how = {});

}  // namespace cmm::tpu
