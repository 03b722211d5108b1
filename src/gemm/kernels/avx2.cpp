// AVX2 with FMA and F16C: the bits of the fmaf chain in 16 ymm registers.
//
// The tile is 6 rows x 16 columns (12 accumulators, 2 of y, 1 or 2 of x), half a panel: a pair of
// panels is four passes over the packed x, which lies in L1.
#include <immintrin.h>

#include <cstdint>

#include "gemm/kernels/avx2_pack.hpp"
#include "gemm/kernels/store.hpp"
#include "gemm/kernels/tables.hpp"
#include "gemm/kernels/unroll.hpp"

namespace cmm::gemm {
namespace {

constexpr int kPassColumns = 16;

// How a row of a panel becomes ymm registers; columns 0-15 of the half that `row` points to.
struct F32Row {
  static constexpr int kElems = 1;  // k, and steps of x, per row
  static constexpr int kRowBytes = 128;
  static constexpr int kPassBytes = 64;  // of 16 columns
  static __m256 y(const std::byte* row, int /*step*/, int vector) {
    return _mm256_load_ps(reinterpret_cast<const float*>(row) + 8 * vector);
  }
};

struct BF16Row {
  static constexpr int kElems = 2;
  static constexpr int kRowBytes = 128;
  static constexpr int kPassBytes = 64;
  static __m256 y(const std::byte* row, int step, int vector) {
    const __m256i pairs = _mm256_load_si256(reinterpret_cast<const __m256i*>(row) + vector);
    return _mm256_castsi256_ps(step == 0 ? _mm256_slli_epi32(pairs, 16)
                                         : _mm256_and_si256(pairs, _mm256_set1_epi32(-0x10000)));
  }
};

struct F16Row {
  static constexpr int kElems = 1;
  static constexpr int kRowBytes = 64;
  static constexpr int kPassBytes = 32;
  static __m256 y(const std::byte* row, int /*step*/, int vector) {
    return _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(row) + vector));
  }
};

// sum[kRows][kPasses][2] += x * k elements of kPasses half panels side by side, from x[0] and
// row 0 on. A row of y holds kElems steps of x; an odd k leaves half a row, whose padding must not
// take part (0 * Inf).
template <class Row, int kRows, int kPasses>
[[gnu::always_inline]] inline void multiply_add(const float* x, const std::byte* row,
                                                std::int64_t k, __m256 (&sum)[kRows][kPasses][2]) {
  const auto add_row = [&sum](const float* steps, const std::byte* y_row, int num_steps) {
    CMM_UNROLL
    for (int step = 0; step < Row::kElems; ++step) {
      if (step >= num_steps) break;
      CMM_UNROLL
      for (int pass = 0; pass < kPasses; ++pass) {
        const std::byte* half = y_row + pass * Row::kPassBytes;
        const __m256 y0 = Row::y(half, step, 0);
        const __m256 y1 = Row::y(half, step, 1);
        CMM_UNROLL
        for (int r = 0; r < kRows; ++r) {
          const __m256 value = _mm256_broadcast_ss(steps + step * kRows + r);
          sum[r][pass][0] = _mm256_fmadd_ps(value, y0, sum[r][pass][0]);
          sum[r][pass][1] = _mm256_fmadd_ps(value, y1, sum[r][pass][1]);
        }
      }
    }
  };
  const std::int64_t full_rows = k / Row::kElems;
  for (std::int64_t i = 0; i < full_rows; ++i) {
    add_row(x, row, Row::kElems);
    x += Row::kElems * kRows;
    row += Row::kRowBytes;
  }
  if (k % Row::kElems != 0) add_row(x, row, 1);
}

// acc_out[kRows][stride] = acc_in (or +0) + x * k elements of kPasses half panels.
struct BlockArgs {
  const float* x;
  const std::byte* row;
  std::int64_t k;
  const float* acc_in;
  float* acc_out;
  std::int64_t acc_stride;
};
template <class Row, int kRows, int kPasses>
void multiply_block(const BlockArgs& args) {
  __m256 sum[kRows][kPasses][2];
  CMM_UNROLL
  for (int r = 0; r < kRows; ++r) {
    CMM_UNROLL
    for (int v = 0; v < 2 * kPasses; ++v) {
      sum[r][v / 2][v % 2] = args.acc_in == nullptr
                                 ? _mm256_setzero_ps()
                                 : _mm256_loadu_ps(args.acc_in + r * args.acc_stride + 8 * v);
    }
  }
  multiply_add<Row, kRows, kPasses>(args.x, args.row, args.k, sum);
  CMM_UNROLL
  for (int r = 0; r < kRows; ++r) {
    CMM_UNROLL
    for (int v = 0; v < 2 * kPasses; ++v) {
      _mm256_storeu_ps(args.acc_out + r * args.acc_stride + 8 * v, sum[r][v / 2][v % 2]);
    }
  }
}

void prefetch_range(const std::byte* begin, std::int64_t bytes) {
  for (std::int64_t offset = 0; offset < bytes; offset += 64) {
    _mm_prefetch(reinterpret_cast<const char*>(begin + offset), _MM_HINT_T1);
  }
}

// The hint range is fetched in four parts, one before each pass.
template <int kRows>
void tile(const TileArgs& args) {
  const int columns = args.panel1 == nullptr ? kPanelColumns : kPairColumns;
  const std::int64_t hint_bytes = args.prefetch_l2 == nullptr ? 0 : args.prefetch_l2_bytes;
  for (int column = 0; column < columns; column += kPassColumns) {
    const std::int64_t hint_begin = hint_bytes * column / columns;
    prefetch_range(args.prefetch_l2 + hint_begin,
                   hint_bytes * (column + kPassColumns) / columns - hint_begin);
    const std::byte* panel = column < kPanelColumns ? args.panel0 : args.panel1;
    multiply_block<F32Row, kRows, 1>(
        {.x = static_cast<const float*>(args.x),
         .row = panel + column % kPanelColumns / kPassColumns * F32Row::kPassBytes,
         .k = args.num_steps,
         .acc_in = args.acc_in == nullptr ? nullptr : args.acc_in + column,
         .acc_out = args.acc_out + column,
         .acc_stride = kPairColumns});
  }
}

// A block of a 16-bit panel to f32 [k][32].
template <class Row>
void widen(const WidenArgs& args) {
  float* out = args.out;
  for (std::int64_t k = 0; k < args.k; ++k, out += kPanelColumns) {
    const std::byte* row = args.panel + k / Row::kElems * Row::kRowBytes;
    const int step = static_cast<int>(k % Row::kElems);
    for (int vector = 0; vector < kPanelColumns / 8; ++vector) {
      _mm256_storeu_ps(out + 8 * vector, Row::y(row, step, vector));
    }
  }
}

// k per visit of a panel in decode: 16 KB of f32. Visiting all panels block by block keeps as many
// memory streams as there are panels, with few enough accumulators for 16 registers.
constexpr std::int64_t kDecodeBlock = 128;
constexpr int kMaxDecodeRows = 6;

template <class Row, int kRows>
void decode_rows(const DecodeArgs& args) {
  // Both halves of a panel at once as far as the registers go, so that whole rows are read.
  constexpr int kPasses = kRows <= 3 ? 2 : 1;
  const auto* x = static_cast<const float*>(args.x);
  const std::int64_t acc_stride = std::int64_t{kPanelColumns} * args.num_panels;
  std::int64_t k0 = 0;
  do {
    const std::int64_t k = args.k - k0 < kDecodeBlock ? args.k - k0 : kDecodeBlock;
    for (int p = 0; p < args.num_panels; ++p) {
      const std::byte* rows =
          args.panels + p * args.panel_bytes + k0 / Row::kElems * Row::kRowBytes;
      for (int half = 0; half < 2; half += kPasses) {
        float* acc = args.acc + p * kPanelColumns + half * kPassColumns;
        multiply_block<Row, kRows, kPasses>({.x = x + k0 * kRows,
                                             .row = rows + half * Row::kPassBytes,
                                             .k = k,
                                             .acc_in = k0 == 0 ? nullptr : acc,
                                             .acc_out = acc,
                                             .acc_stride = acc_stride});
      }
    }
    k0 += k;
  } while (k0 < args.k);
}

template <class Row>
void decode(const DecodeArgs& args) {
  switch (args.rows) {
    case 1:
      return decode_rows<Row, 1>(args);
    case 2:
      return decode_rows<Row, 2>(args);
    case 3:
      return decode_rows<Row, 3>(args);
    case 4:
      return decode_rows<Row, 4>(args);
    case 5:
      return decode_rows<Row, 5>(args);
    case 6:
      return decode_rows<Row, 6>(args);
  }
}

// Enough accumulators to hide the latency of the multiply-add (4 or 5 cycles, two per cycle).
constexpr int kLoopSums = 12;

float register_loop(std::int64_t rounds) {
  __m256 sum[kLoopSums];
  CMM_UNROLL
  for (int i = 0; i < kLoopSums; ++i) sum[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 y = _mm256_set1_ps(0x1p-20f);
  for (std::int64_t round = 0; round < rounds; ++round) {
    CMM_UNROLL
    for (int i = 0; i < kLoopSums; ++i) sum[i] = _mm256_fmadd_ps(y, y, sum[i]);
  }
  __m256 total = sum[0];
  CMM_UNROLL
  for (int i = 1; i < kLoopSums; ++i) total = _mm256_add_ps(total, sum[i]);
  return _mm_cvtss_f32(_mm256_castps256_ps128(total));
}

template <class Source, class Row, WidenFunction widen_function>
constexpr TypeKernels type_kernels() {
  return {.tile = {nullptr, tile<1>, tile<2>, tile<3>, tile<4>, tile<5>, tile<6>},
          .widen = widen_function,
          .pack_rows = pack_rows<Source>,
          .decode = decode<Row>,
          .max_decode_rows = kMaxDecodeRows,
          .register_loop = register_loop,
          .register_loop_flops = 2.0 * 8 * kLoopSums};
}

constexpr Kernels kTable = {
    .isa = Isa::kAvx2,
    .f32 = type_kernels<F32Source, F32Row, nullptr>(),
    .bf16 = type_kernels<BF16Source, BF16Row, widen<BF16Row>>(),
    .f16 = type_kernels<F16Source, F16Row, widen<F16Row>>(),
    .store = store,
};

}  // namespace

const Kernels& avx2_kernels() { return kTable; }

}  // namespace cmm::gemm
