// x86-64: which of the sets this processor runs.
#include <cpuid.h>

#include "gemm/kernels/tables.hpp"

namespace cmm::gemm {
namespace {

bool has_f16c() {  // clang 14 does not know the name in __builtin_cpu_supports
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

// Asked once: on a virtual machine a cpuid costs microseconds.
bool has_avx2() {
  static const bool has =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && has_f16c();
  return has;
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
