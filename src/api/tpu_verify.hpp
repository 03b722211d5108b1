// A kernel on virtual devices, in the words of callers.
#pragma once

#include "api/tpu_kernels.hpp"
#include "cmm/tpu_verify.hpp"
#include "tpu/verify.hpp"

namespace cmm::tpu {

// Throws Error(kInvalidArgument) for a number of runs that is none.
VerifyOptions verify_options(const VerificationOptions& how);
Verification verification_of(const MadeKernel& made, const Chip& chip,
                             const VerificationOptions& how);

}  // namespace cmm::tpu
