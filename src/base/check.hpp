// Checks of our own invariants, on in debug builds and sanitizer builds (CMM_DEBUG_CHECKS).
// They are not for callers' mistakes (throw Error) nor for the outside world (throw Error).
#pragma once

#include <stdexcept>

#ifdef CMM_DEBUG_CHECKS
#define CMM_DCHECK(condition) \
  ((condition) ? void() : throw std::logic_error("broken invariant: " #condition))
#else
#define CMM_DCHECK(condition) void(sizeof((condition) ? 1 : 0))
#endif
