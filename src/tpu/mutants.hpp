// All small faults of a kernel, one at a time: does the verifier see each?
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tpu/verify.hpp"

namespace cmm::tpu {

struct Mutant {
  std::string name;  // stable: "drop await arrival at step 3 (send forward hop 1 piece 0)"
  std::string kind;  // "drop start", "drop await", "swap neighbours", "slot", ...
  std::function<Kernel()> make;
};
// Of the statements of the program, and of the entries of the table where there is one.
std::vector<Mutant> mutants(const Kernel& kernel);

struct MutantVerdict {
  std::string name;
  std::string kind;
  bool caught = false;
  std::string cause;       // fault_name and text
  std::string equivalent;  // why nothing changes, where that has been argued; else empty
  int num_runs = 0;
};
// The rule that says why a mutant of this kernel changes nothing that anyone could see, or "".
std::string why_equivalent(const Kernel& kernel, const Mutant& mutant);

std::vector<MutantVerdict> try_mutants(const Kernel& kernel, const Chip& chip,
                                       const VerifyOptions& options);

}  // namespace cmm::tpu
