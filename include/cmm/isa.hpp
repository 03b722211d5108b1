// The instruction sets the multiply has kernels for.
#pragma once

#include <cstdint>
#include <string_view>

namespace cmm {

// kPortable, kAvx2 and kAvx512 compute the same bits: the ascending fmaf chain (docs/numerics.md).
// kAvx512Bf16 is kAvx512 except that bf16 products use the native pair instruction, whose result
// is defined otherwise.
enum class Isa : std::uint8_t { kPortable, kAvx2, kAvx512, kAvx512Bf16 };

std::string_view isa_name(Isa isa);    // "portable", "avx2", "avx512", "avx512_bf16"
Isa parse_isa(std::string_view name);  // throws Error(kInvalidArgument) naming the known ones
bool isa_supported(Isa isa);           // by this processor and this build

// The environment variable CMM_ISA where it is set, else the fastest supported one. Throws
// Error(kInvalidArgument) where CMM_ISA is unknown, Error(kUnsupported) where it cannot run here.
Isa default_isa();

}  // namespace cmm
