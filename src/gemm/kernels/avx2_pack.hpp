// Rows of x, and columns of y, to packed f32 steps on AVX2: 8 steps of 4 rows are transposed at a
// time.
// Internal linkage: for avx2.cpp only.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "gemm/kernels.hpp"
#include "gemm/kernels/x86_store_rows.hpp"

namespace cmm::gemm {
namespace {

// Sources: 8 steps of one row to one ymm, or one step to a float.
struct F32Source {
  using Elem = float;
  static __m256 load8(const float* x) { return _mm256_loadu_ps(x); }
  static float load1(const float* x) { return *x; }
};

struct BF16Source {
  using Elem = std::uint16_t;
  static __m256 load8(const std::uint16_t* x) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  static float load1(const std::uint16_t* x) {
    return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(*x << 16)));
  }
};

struct F16Source {
  using Elem = std::uint16_t;
  static __m256 load8(const std::uint16_t* x) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  }
  static float load1(const std::uint16_t* x) {
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(*x)));
  }
};

template <class Source>
void pack_rows(const PackRowsArgs& args) {
  using Elem = typename Source::Elem;
  const std::int64_t stride = args.row_stride;
  const std::int64_t out_rows = args.out_rows;
  for (int row = 0; row < args.rows; row += 4) {
    const int num_rows = args.rows - row < 4 ? args.rows - row : 4;
    const Elem* x = static_cast<const Elem*>(args.x) + row * stride;
    float* out = static_cast<float*>(args.out) + row;
    std::int64_t k = 0;
    for (; k + 8 <= args.k; k += 8, x += 8, out += 8 * out_rows) {
      const __m256 zero = _mm256_setzero_ps();
      const __m256 r0 = Source::load8(x);
      if (out_rows == 1) {
        _mm256_storeu_ps(out, r0);
        continue;
      }
      const __m256 r1 = num_rows > 1 ? Source::load8(x + stride) : zero;
      const __m256 r2 = num_rows > 2 ? Source::load8(x + 2 * stride) : zero;
      const __m256 r3 = num_rows > 3 ? Source::load8(x + 3 * stride) : zero;
      const __m256d low01 = _mm256_castps_pd(_mm256_unpacklo_ps(r0, r1));
      const __m256d high01 = _mm256_castps_pd(_mm256_unpackhi_ps(r0, r1));
      const __m256d low23 = _mm256_castps_pd(_mm256_unpacklo_ps(r2, r3));
      const __m256d high23 = _mm256_castps_pd(_mm256_unpackhi_ps(r2, r3));
      // transposed[i]: step i in the low half, step 4 + i in the high half.
      const __m256 transposed[4] = {_mm256_castpd_ps(_mm256_unpacklo_pd(low01, low23)),
                                    _mm256_castpd_ps(_mm256_unpackhi_pd(low01, low23)),
                                    _mm256_castpd_ps(_mm256_unpacklo_pd(high01, high23)),
                                    _mm256_castpd_ps(_mm256_unpackhi_pd(high01, high23))};
      for (int i = 0; i < 4; ++i) {
        store_rows(out + i * out_rows, _mm256_castps256_ps128(transposed[i]), num_rows);
        store_rows(out + (4 + i) * out_rows, _mm256_extractf128_ps(transposed[i], 1), num_rows);
      }
    }
    for (; k < args.k; ++k, ++x, out += out_rows) {
      for (int r = 0; r < num_rows; ++r) out[r] = Source::load1(x + r * stride);
    }
  }
}

template <class Source>
void pack_columns(const PackColumnsArgs& args) {
  const auto* y = static_cast<const typename Source::Elem*>(args.y);
  auto* out = static_cast<float*>(args.out);
  for (std::int64_t k = 0; k < args.k; ++k, y += args.k_stride, out += kPanelColumns) {
    for (int column = 0; column < kPanelColumns; column += 8) {
      _mm256_store_ps(out + column, Source::load8(y + column));
    }
  }
}

}  // namespace
}  // namespace cmm::gemm
