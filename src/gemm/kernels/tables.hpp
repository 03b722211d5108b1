// The tables of this build, one function per source file of this folder. Each file is compiled
// for its instruction set, so nothing here may run on a processor without it except the functions
// below, which only return an address.
//
// Rule for those files: no function with external linkage but the one declared here. An inline
// function compiled twice is merged by the linker, which may keep the copy with the wider
// instructions for everybody. Shared code (store.hpp) therefore stands in an anonymous namespace
// and calls builtins, not inline functions of the standard library; a test reads the symbols.
#pragma once

#include "gemm/kernels.hpp"

namespace cmm::gemm {

const Kernels& portable_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
const Kernels& avx512_bf16_kernels();

// The table of `isa` where it is built for this architecture and runs on this processor, else
// nullptr. In arch_x86.cpp or arch_other.cpp, as the target is.
const Kernels* arch_kernels(Isa isa);

}  // namespace cmm::gemm
