// Lines and pages of memory that will be read soon.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cmm::gemm {

inline constexpr std::int64_t kLineBytes = 64;
inline constexpr std::int64_t kSmallPageBytes = 4096;  // the least of any processor

// To L2. Always inlined: files for different instruction sets include this, and the linker would
// take one of their copies for all.
[[gnu::always_inline]] inline void fetch_line(const std::byte* line) {
  __builtin_prefetch(line, 0, 2);
  asm volatile("" : : "r"(line));  // else g++ 12 drops calls of functions that do nothing but this
}

}  // namespace cmm::gemm
