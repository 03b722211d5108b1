// How AVX-512 reads the formats of y: a row of a panel (see kernels.hpp) to zmm registers ready for
// the multiply-add, and the multiply-add itself. A row holds kSteps steps of x.
// Internal linkage: see avx512_tile.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "gemm/kernels.hpp"
#include "gemm/kernels/unroll.hpp"

namespace cmm::gemm {
namespace {

struct F32Row {
  static constexpr int kSteps = 1;       // steps of x per row of the panel
  static constexpr int kElems = 1;       // k per row
  static constexpr int kRowBytes = 128;  // 32 columns

  using Raw = __m512[2];
  static void load(const std::byte* row, Raw& raw) {
    raw[0] = _mm512_load_ps(row);
    raw[1] = _mm512_load_ps(row + 64);
  }
  static __m512 y(const Raw& raw, int /*step*/, int vector) { return raw[vector]; }
  static __m512 multiply_add(__m512 sum, float x, __m512 y) {
    return _mm512_fmadd_ps(_mm512_set1_ps(x), y, sum);
  }
};

// bf16 pairs widened by shift (even k) and mask (odd k): exact, and the order of k is kept.
struct BF16Row : F32Row {
  static constexpr int kSteps = 2;
  static constexpr int kElems = 2;

  using Raw = __m512i[2];
  static void load(const std::byte* row, Raw& raw) {
    raw[0] = _mm512_load_si512(row);
    raw[1] = _mm512_load_si512(row + 64);
  }
  static __m512 y(const Raw& raw, int step, int vector) {
    return _mm512_castsi512_ps(step == 0
                                   ? _mm512_slli_epi32(raw[vector], 16)
                                   : _mm512_and_si512(raw[vector], _mm512_set1_epi32(-0x10000)));
  }
};

struct F16Row : F32Row {
  static constexpr int kRowBytes = 64;

  using Raw = __m512[2];
  static void load(const std::byte* row, Raw& raw) {
    raw[0] = _mm512_cvtph_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(row)));
    raw[1] = _mm512_cvtph_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(row + 32)));
  }
  static __m512 y(const Raw& raw, int /*step*/, int vector) { return raw[vector]; }
};

// A block of a 16-bit panel to f32 [k][32].
template <class Row>
void widen(const WidenArgs& args) {
  const std::byte* row = args.panel;
  float* out = args.out;
  for (std::int64_t k = 0; k < args.k; k += Row::kElems, row += Row::kRowBytes) {
    typename Row::Raw raw;
    Row::load(row, raw);
    for (int step = 0; step < Row::kElems && k + step < args.k; ++step, out += kPanelColumns) {
      _mm512_storeu_ps(out, Row::y(raw, step, 0));
      _mm512_storeu_ps(out + 16, Row::y(raw, step, 1));
    }
  }
}

// Enough accumulators to hide the latency of the multiply-add (4 cycles, two per cycle).
inline constexpr int kLoopSums = 24;

// RegisterLoopFunction: kLoopSums multiply-adds of 16 lanes per round.
template <class Row>
float register_loop(std::int64_t rounds) {
  __m512 sum[kLoopSums];
  CMM_UNROLL
  for (int i = 0; i < kLoopSums; ++i) sum[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 y = _mm512_set1_ps(0x1p-20f);
  for (std::int64_t round = 0; round < rounds; ++round) {
    CMM_UNROLL
    for (int i = 0; i < kLoopSums; ++i) sum[i] = Row::multiply_add(sum[i], 0x1p-20f, y);
  }
  __m512 total = sum[0];
  CMM_UNROLL
  for (int i = 1; i < kLoopSums; ++i) total = _mm512_add_ps(total, sum[i]);
  return _mm_cvtss_f32(_mm512_castps512_ps128(total));
}

}  // namespace
}  // namespace cmm::gemm
