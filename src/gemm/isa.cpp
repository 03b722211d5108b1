#include "cmm/isa.hpp"

#include <cstdlib>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "gemm/kernels/tables.hpp"

namespace cmm {
namespace {
constexpr Isa kSlowestFirst[] = {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16};
}  // namespace

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return "portable";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Bf16:
      return "avx512_bf16";
  }
  return "unknown";
}

Isa parse_isa(std::string_view name) {
  for (Isa isa : kSlowestFirst) {
    if (name == isa_name(isa)) return isa;
  }
  throw Error(ErrorCode::kInvalidArgument, cat("unknown instruction set '", name,
                                               "'; known are portable, avx2, avx512, avx512_bf16"));
}

bool isa_supported(Isa isa) { return gemm::arch_kernels(isa) != nullptr; }

Isa default_isa() {
  Isa fastest = Isa::kPortable;
  for (Isa isa : kSlowestFirst) {
    if (isa_supported(isa)) fastest = isa;
  }
  const char* forced = std::getenv("CMM_ISA");
  if (forced == nullptr || *forced == '\0') return fastest;
  Isa isa = Isa::kPortable;
  try {
    isa = parse_isa(forced);
  } catch (const Error& error) {
    throw Error(error.code(), cat("environment variable CMM_ISA: ", error.what()));
  }
  if (!isa_supported(isa)) {
    throw Error(ErrorCode::kUnsupported,
                cat("CMM_ISA=", forced, " cannot run here; the fastest set that can is ",
                    isa_name(fastest)));
  }
  return isa;
}

}  // namespace cmm
