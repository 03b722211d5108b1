// From a public problem to the reference kernel: its block sizes, and what it refuses.
#pragma once

#include <string>

#include "cmm/tpu_kernel.hpp"
#include "tpu/kernels/reference.hpp"

namespace cmm::tpu {

struct ReferenceChoice {
  ReferenceOptions options;
  std::string refused;  // why the reference kernel cannot do it, or ""
};
// Block sizes that `options` leaves open are those of tuned_block_sizes(), where there are any.
// `problem` has been checked.
ReferenceChoice choose_reference(const Problem& problem, const Chip& chip,
                                 const KernelOptions& options);

// Of block sizes in a message, a file or a flag: "bn=6400 bk=2560".
std::string block_sizes_text(std::int64_t bn, std::int64_t bk);

}  // namespace cmm::tpu
