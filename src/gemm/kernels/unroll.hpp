// Loops of known length over arrays of registers must vanish: CMM_UNROLL before such a loop.
#pragma once

#ifdef __clang__
#define CMM_UNROLL _Pragma("unroll")
#else
#define CMM_UNROLL _Pragma("GCC unroll 32")
#endif
