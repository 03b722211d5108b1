// x86-64: which of the sets this processor runs.
#include "gemm/kernels/tables.hpp"

namespace cmm::gemm {
namespace {

bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

}  // namespace

const Kernels* arch_kernels(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return &portable_kernels();
    case Isa::kAvx2:
      return has_avx2() ? &avx2_kernels() : nullptr;
    case Isa::kAvx512:
      return has_avx512() ? &avx512_kernels() : nullptr;
    case Isa::kAvx512Bf16:
      return has_avx512() && __builtin_cpu_supports("avx512bf16") ? &avx512_bf16_kernels()
                                                                  : nullptr;
  }
  return nullptr;
}

}  // namespace cmm::gemm
