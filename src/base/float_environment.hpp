// The floating-point environment of a call. A caller (or a library it loaded) may have switched
// on flush-to-zero or another rounding; the result is defined for the default environment, so a
// call sets it in every thread that computes and puts the caller's back.
#pragma once

#include <cstdint>

namespace cmm {

class DefaultFloatEnvironment {
 public:
#if defined(__x86_64__) || defined(__i386__)
  DefaultFloatEnvironment() : saved_(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(0x1f80); }
  ~DefaultFloatEnvironment() { __builtin_ia32_ldmxcsr(static_cast<unsigned>(saved_)); }
#elif defined(__aarch64__)
  DefaultFloatEnvironment() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}));
  }
  ~DefaultFloatEnvironment() { asm volatile("msr fpcr, %0" : : "r"(saved_)); }
#else
  DefaultFloatEnvironment() = default;
#endif
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
  std::uint64_t saved_ = 0;
};

}  // namespace cmm
