#include "api/tpu_verify.hpp"

#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm::tpu {

VerifyOptions verify_options(const VerificationOptions& how) {
  if (how.num_interleavings < 0) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("num_interleavings is ", how.num_interleavings, "; it must be 0 or more"));
  }
  return {.seed = how.seed, .num_interleavings = how.num_interleavings};
}

Verification verification_of(const MadeKernel& made, const Chip& chip,
                             const VerificationOptions& how) {
  const Verdict verdict = verify(made.kernel, chip, verify_options(how));
  Verification verification;
  verification.right = !verdict.fault;
  verification.proved = verdict.proved;
  if (verdict.fault) {
    verification.fault = fault_name(verdict.fault->kind);
    verification.text = verdict.fault->text;
    if (verdict.num_runs > 0) verification.run = run_text(verdict.options);
  }
  verification.kernel = describe(made, chip);
  verification.num_runs = verdict.num_runs;
  verification.seconds = verdict.seconds;
  return verification;
}

Verification verify(const Problem& problem, const Chip& chip, const KernelOptions& options,
                    const VerificationOptions& how) {
  return verification_of(make_kernel(problem, chip, options), chip, how);
}

}  // namespace cmm::tpu
