// A store that the packing of AVX2 and of AVX-512 share. Internal linkage: each file that includes
// this is compiled for another instruction set.
#pragma once

#include <immintrin.h>

namespace cmm::gemm {
namespace {

// One step of up to 4 rows: stores the first num_rows lanes. No masked stores: they are microcode
// on Zen 2 and older, and g++ 12 joins an extract and a masked store into vextractf32x4 with a
// mask, which faults on lanes that are masked out.
inline void store_rows(float* out, __m128 steps, int num_rows) {
  switch (num_rows) {
    case 4:
      _mm_storeu_ps(out, steps);
      break;
    case 3:
      _mm_storel_pi(reinterpret_cast<__m64*>(out), steps);
      _mm_store_ss(out + 2, _mm_movehl_ps(steps, steps));
      break;
    case 2:
      _mm_storel_pi(reinterpret_cast<__m64*>(out), steps);
      break;
    default:
      _mm_store_ss(out, steps);
  }
}

}  // namespace
}  // namespace cmm::gemm
