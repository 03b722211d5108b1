// All small faults of a kernel, for callers.
#include "api/tpu_verify.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "tpu/mutants.hpp"

namespace cmm::tpu {

std::vector<MutantResult> try_all_mutants(const Problem& problem, const Chip& chip,
                                          const KernelOptions& options,
                                          const VerificationOptions& how,
                                          const std::function<void(int, int)>& progress) {
  const MadeKernel made = make_kernel(problem, chip, options);
  std::vector<MutantResult> results;
  for (MutantVerdict& verdict : try_mutants(made.kernel, chip, verify_options(how), progress)) {
    MutantResult result;
    result.number = static_cast<int>(results.size());
    result.name = std::move(verdict.name);
    result.kind = kind_name(verdict.kind);
    result.caught = verdict.caught;
    if (verdict.caught) {
      result.cause = cat(fault_name(verdict.fault), ": ", verdict.cause);
      if (verdict.num_runs > 0) result.run = run_text(verdict.run);
    }
    result.equivalent = std::move(verdict.equivalent);
    result.num_runs = verdict.num_runs;
    results.push_back(std::move(result));
  }
  return results;
}

Verification verify_mutant(const Problem& problem, const Chip& chip, const KernelOptions& options,
                           int number, const VerificationOptions& how) {
  MadeKernel made = make_kernel(problem, chip, options);
  const std::vector<Mutant> all = mutants(made.kernel, chip);
  if (number < 0 || number >= static_cast<int>(all.size())) {
    throw Error(ErrorCode::kInvalidArgument, cat("there is no fault ", number, "; this kernel has ",
                                                 all.size(), ", from 0 to ", all.size() - 1));
  }
  const Mutant& mutant = all[static_cast<std::size_t>(number)];
  made.kernel = mutant.make();
  Verification verification = verification_of(made, chip, how);
  verification.mutant = mutant.name;
  return verification;
}

}  // namespace cmm::tpu
