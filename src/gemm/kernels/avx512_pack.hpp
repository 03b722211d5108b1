// Rows of x, and columns of y, to packed steps on AVX-512: 16 steps of 4 rows are transposed at a
// time.
// Internal linkage: see avx512_tile.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "gemm/kernels.hpp"
#include "gemm/kernels/unroll.hpp"
#include "gemm/kernels/x86_store_rows.hpp"

namespace cmm::gemm {
namespace {

constexpr __mmask16 first_lanes(std::int64_t count) {
  return count >= 16 ? __mmask16{0xffff} : static_cast<__mmask16>((1u << count) - 1);
}

// Sources: up to 16 steps of one row to one zmm. Nothing past the row's end is read.
struct F32Source {
  static constexpr int kElemsPerStep = 1;
  static constexpr int kElemBytes = 4;
  static __m512 load(const std::byte* x, std::int64_t num_elems) {
    return _mm512_maskz_loadu_ps(first_lanes(num_elems), x);
  }
};

struct BF16Source {
  static constexpr int kElemsPerStep = 1;
  static constexpr int kElemBytes = 2;
  static __m512 load(const std::byte* x, std::int64_t num_elems) {
    const __m256i bits = _mm256_maskz_loadu_epi16(first_lanes(num_elems), x);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
};

struct F16Source {
  static constexpr int kElemsPerStep = 1;
  static constexpr int kElemBytes = 2;
  static __m512 load(const std::byte* x, std::int64_t num_elems) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(num_elems), x));
  }
};

// Pairs as they lie in the row; the missing half of an odd last pair is 0.
struct BF16PairSource {
  static constexpr int kElemsPerStep = 2;
  static constexpr int kElemBytes = 2;
  static __m512 load(const std::byte* x, std::int64_t num_elems) {
    const __mmask32 mask =
        num_elems >= 32 ? ~__mmask32{0} : static_cast<__mmask32>((1u << num_elems) - 1);
    return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(mask, x));
  }
};

// Steps 4 * kLane .. 4 * kLane + 3 of the transposed vectors, as far as num_steps goes.
template <int kLane>
inline void store_lane(const __m512 (&transposed)[4], std::int64_t num_steps, int num_rows,
                       float* out, std::int64_t out_rows) {
  for (int i = 0; i < 4; ++i) {
    const std::int64_t step = 4 * kLane + i;
    if (step >= num_steps) return;
    store_rows(out + step * out_rows, _mm512_extractf32x4_ps(transposed[i], kLane), num_rows);
  }
}

// Packing waits for x: rows of cold x are read 30 % faster with this on Zen 5 (256 to 2048 bytes
// are alike).
inline constexpr std::int64_t kPackAheadBytes = 1024;

// 16 steps of 16 rows, transposed: v[i] becomes step i of the rows.
inline void transpose(__m512 (&v)[16]) {
  __m512d pairs[16];  // of rows (2 i, 2 i + 1), by 64 bits; then of 4 rows
  CMM_UNROLL
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_castps_pd(_mm512_unpacklo_ps(v[i], v[i + 1]));
    pairs[i + 1] = _mm512_castps_pd(_mm512_unpackhi_ps(v[i], v[i + 1]));
  }
  // v[4 i + s]: rows 4 i .. 4 i + 3 of steps s, 4 + s, 8 + s, 12 + s, a 128-bit lane each.
  CMM_UNROLL
  for (int i = 0; i < 16; i += 4) {
    v[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(pairs[i], pairs[i + 2]));
    v[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(pairs[i], pairs[i + 2]));
    v[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(pairs[i + 1], pairs[i + 3]));
    v[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(pairs[i + 1], pairs[i + 3]));
  }
  CMM_UNROLL
  for (int s = 0; s < 4; ++s) {
    const __m512 even_low = _mm512_shuffle_f32x4(v[s], v[4 + s], 0x88);  // lanes 0, 2 of both
    const __m512 odd_low = _mm512_shuffle_f32x4(v[s], v[4 + s], 0xdd);
    const __m512 even_high = _mm512_shuffle_f32x4(v[8 + s], v[12 + s], 0x88);
    const __m512 odd_high = _mm512_shuffle_f32x4(v[8 + s], v[12 + s], 0xdd);
    v[s] = _mm512_shuffle_f32x4(even_low, even_high, 0x88);
    v[4 + s] = _mm512_shuffle_f32x4(odd_low, odd_high, 0x88);
    v[8 + s] = _mm512_shuffle_f32x4(even_low, even_high, 0xdd);
    v[12 + s] = _mm512_shuffle_f32x4(odd_low, odd_high, 0xdd);
  }
}

// 16 rows. Nothing is prefetched: whoever packs so many rows has seen to it (product.cpp), or they
// are few.
template <class Source>
void pack_16_rows(const PackRowsArgs& args, int row) {
  constexpr std::int64_t kBlockElems = 16 * Source::kElemsPerStep;
  const std::int64_t row_bytes = args.row_stride * Source::kElemBytes;
  const std::byte* x = static_cast<const std::byte*>(args.x) + row * row_bytes;
  float* out = static_cast<float*>(args.out) + row;
  for (std::int64_t k = 0; k < args.k; k += kBlockElems) {
    const std::int64_t num_elems = args.k - k;
    __m512 v[16];
    CMM_UNROLL
    for (int r = 0; r < 16; ++r) v[r] = Source::load(x + r * row_bytes, num_elems);
    transpose(v);
    if (num_elems >= kBlockElems) {
      CMM_UNROLL
      for (int step = 0; step < 16; ++step) _mm512_storeu_ps(out + step * args.out_rows, v[step]);
    } else {
      const std::int64_t num_steps =
          (num_elems + Source::kElemsPerStep - 1) / Source::kElemsPerStep;
      CMM_UNROLL
      for (int step = 0; step < 16; ++step) {
        if (step < num_steps) _mm512_storeu_ps(out + step * args.out_rows, v[step]);
      }
    }
    x += kBlockElems * Source::kElemBytes;
    out += 16 * args.out_rows;
  }
}

template <class Source>
void pack_rows(const PackRowsArgs& args) {
  constexpr std::int64_t kBlockElems = 16 * Source::kElemsPerStep;
  const std::int64_t row_bytes = args.row_stride * Source::kElemBytes;
  int row = 0;
  for (; row + 16 <= args.rows; row += 16) pack_16_rows<Source>(args, row);
  for (; row < args.rows; row += 4) {
    const int num_rows = args.rows - row < 4 ? args.rows - row : 4;
    for (std::int64_t k = 0; k < args.k; k += kBlockElems) {
      const std::byte* x =
          static_cast<const std::byte*>(args.x) + row * row_bytes + k * Source::kElemBytes;
      const std::int64_t num_elems = args.k - k;
      const std::int64_t left = (num_elems + Source::kElemsPerStep - 1) / Source::kElemsPerStep;
      const std::int64_t num_steps = left < 16 ? left : 16;
      float* out =
          static_cast<float*>(args.out) + (k / Source::kElemsPerStep) * args.out_rows + row;

      for (int r = 0; r < num_rows; ++r) {
        const std::byte* ahead = x + r * row_bytes + kPackAheadBytes;
        _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T0);
      }
      const __m512 zero = _mm512_setzero_ps();
      const __m512 r0 = Source::load(x, num_elems);
      const __m512 r1 = num_rows > 1 ? Source::load(x + row_bytes, num_elems) : zero;
      const __m512 r2 = num_rows > 2 ? Source::load(x + 2 * row_bytes, num_elems) : zero;
      const __m512 r3 = num_rows > 3 ? Source::load(x + 3 * row_bytes, num_elems) : zero;
      if (args.out_rows == 1) {
        _mm512_mask_storeu_ps(out, first_lanes(num_steps), r0);
        continue;
      }
      // Inside each 128-bit lane L: steps 4 L .. 4 L + 3 of the 4 rows, transposed.
      const __m512d low01 = _mm512_castps_pd(_mm512_unpacklo_ps(r0, r1));
      const __m512d high01 = _mm512_castps_pd(_mm512_unpackhi_ps(r0, r1));
      const __m512d low23 = _mm512_castps_pd(_mm512_unpacklo_ps(r2, r3));
      const __m512d high23 = _mm512_castps_pd(_mm512_unpackhi_ps(r2, r3));
      const __m512 transposed[4] = {_mm512_castpd_ps(_mm512_unpacklo_pd(low01, low23)),
                                    _mm512_castpd_ps(_mm512_unpackhi_pd(low01, low23)),
                                    _mm512_castpd_ps(_mm512_unpacklo_pd(high01, high23)),
                                    _mm512_castpd_ps(_mm512_unpackhi_pd(high01, high23))};
      store_lane<0>(transposed, num_steps, num_rows, out, args.out_rows);
      store_lane<1>(transposed, num_steps, num_rows, out, args.out_rows);
      store_lane<2>(transposed, num_steps, num_rows, out, args.out_rows);
      store_lane<3>(transposed, num_steps, num_rows, out, args.out_rows);
    }
  }
}

template <class Source>
void pack_columns(const PackColumnsArgs& args) {
  const std::int64_t row_bytes = args.k_stride * Source::kElemBytes;
  const auto* y = static_cast<const std::byte*>(args.y);
  auto* out = static_cast<float*>(args.out);
  for (std::int64_t k = 0; k < args.k; ++k, y += row_bytes, out += kPanelColumns) {
    _mm512_store_ps(out, Source::load(y, 16));
    _mm512_store_ps(out + 16, Source::load(y + 16 * Source::kElemBytes, 16));
  }
}

// Where each 16 bits of 16 pairs come from: even lanes from the row of the even k, odd ones (+ 32)
// from the other.
struct alignas(64) PairLanes {
  constexpr explicit PairLanes(int first_column) {
    for (int i = 0; i < 32; ++i) {
      from[i] = static_cast<std::uint16_t>(first_column + i / 2 + i % 2 * 32);
    }
  }
  std::uint16_t from[32] = {};
};
inline constexpr PairLanes kPairLanes[2] = {PairLanes(0), PairLanes(16)};

// 16 of 32 columns of two rows as pairs, the even k in the low half. One shuffle: widening both
// rows, a shift and an or took four operations.
inline __m512i pairs_of(__m512i even, __m512i odd, int half) {
  return _mm512_permutex2var_epi16(even, _mm512_load_si512(kPairLanes[half].from), odd);
}

// Pairs of neighbouring k.
inline void pack_column_pairs(const PackColumnsArgs& args) {
  const auto* y = static_cast<const std::uint16_t*>(args.y);
  auto* out = static_cast<std::uint16_t*>(args.out);
  for (std::int64_t k = 0; k < args.k; k += 2, y += 2 * args.k_stride, out += kPairColumns) {
    const __m512i even = _mm512_loadu_si512(y);
    const __m512i odd =
        k + 1 < args.k ? _mm512_loadu_si512(y + args.k_stride) : _mm512_setzero_si512();
    CMM_UNROLL
    for (int half = 0; half < 2; ++half) {
      _mm512_store_si512(out + 32 * half, pairs_of(even, odd, half));
    }
  }
}

}  // namespace
}  // namespace cmm::gemm
