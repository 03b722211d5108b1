// Architectures without kernels of their own.
#include "gemm/kernels/tables.hpp"

namespace cmm::gemm {

const Kernels* arch_kernels(Isa isa) {
  return isa == Isa::kPortable ? &portable_kernels() : nullptr;
}

}  // namespace cmm::gemm
