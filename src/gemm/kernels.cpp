#include "gemm/kernels.hpp"

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "gemm/kernels/tables.hpp"

namespace cmm::gemm {

const Kernels& kernels(Isa isa) {
  if (const Kernels* table = arch_kernels(isa)) return *table;
  throw Error(ErrorCode::kUnsupported,
              cat("instruction set ", isa_name(isa), " cannot run on this processor or build"));
}

}  // namespace cmm::gemm
