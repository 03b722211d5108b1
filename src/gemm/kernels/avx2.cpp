// AVX2 with FMA and F16C: the bits of the fmaf chain in 16 ymm registers.
//
// The tile is 6 rows x 16 columns (12 accumulators, 2 of y, 1 or 2 of x), half a panel: a pair of
// panels is four passes over the packed x, which lies in L1.
#include <immintrin.h>

#include <cstdint>

#include "gemm/kernels/ahead.hpp"
#include "gemm/kernels/avx2_pack.hpp"
#include "gemm/kernels/store.hpp"
#include "gemm/kernels/tables.hpp"
#include "gemm/kernels/unroll.hpp"

namespace cmm::gemm {
namespace {

constexpr int kHalfColumns = 16;

// How a row of a panel becomes ymm registers; columns 0-15 of the half that `row` points to.
struct F32Row {
  static constexpr int kElems = 1;  // k, and steps of x, per row
  static constexpr int kRowBytes = 128;
  static constexpr int kHalfBytes = 64;  // of 16 columns
  static __m256 y(const std::byte* row, int /*step*/, int vector) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(row) + 8 * vector);
  }
};

struct BF16Row {
  static constexpr int kElems = 2;
  static constexpr int kRowBytes = 128;
  static constexpr int kHalfBytes = 64;
  static __m256 y(const std::byte* row, int step, int vector) {
    const __m256i pairs = _mm256_load_si256(reinterpret_cast<const __m256i*>(row) + vector);
    return _mm256_castsi256_ps(step == 0 ? _mm256_slli_epi32(pairs, 16)
                                         : _mm256_and_si256(pairs, _mm256_set1_epi32(-0x10000)));
  }
};

struct F16Row {
  static constexpr int kElems = 1;
  static constexpr int kRowBytes = 64;
  static constexpr int kHalfBytes = 32;
  static __m256 y(const std::byte* row, int /*step*/, int vector) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row) + vector));
  }
};

// Of y itself; those of f32 and f16 are as rows of panels.
struct BF16ViewRow {
  static constexpr int kElems = 1;
  static constexpr int kRowBytes = 64;
  static constexpr int kHalfBytes = 32;
  static __m256 y(const std::byte* row, int /*step*/, int vector) {
    return BF16Source::load8(reinterpret_cast<const std::uint16_t*>(row) + 8 * vector);
  }
};

// A block of k for up to 6 rows: acc_out = acc_in (or +0) + x * k elements of y.
struct BlockArgs {
  const float* x = nullptr;       // first row, first step
  std::int64_t x_stride = 0;      // from step to step
  const std::byte* y = nullptr;   // row of the panel, at the columns wanted
  std::int64_t row_bytes = 0;     // from row to row of the panel
  std::int64_t k = 0;             // elements; odd only at the end of an odd k
  std::int64_t ahead_bytes = 0;   // prefetches y this far ahead; 0: not at all
  Ahead* ahead = nullptr;         // or this, a line for each 64 bytes of y
  const float* acc_in = nullptr;  // [rows][acc_stride]
  float* acc_out = nullptr;       // the same
  std::int64_t acc_stride = 0;
};

// Adds one row of a panel: num_steps steps of kHalves times 16 columns.
template <class Row, int kRows, int kHalves>
[[gnu::always_inline]] inline void add_row(const float* x, std::int64_t x_stride,
                                           const std::byte* row, int num_steps,
                                           __m256 (&sum)[kRows][kHalves][2]) {
  CMM_UNROLL
  for (int step = 0; step < Row::kElems; ++step) {
    if (step >= num_steps) break;
    CMM_UNROLL
    for (int half = 0; half < kHalves; ++half) {
      // Broadcasts kept for the next half or step do not fit in the registers: load them again.
      if constexpr (kHalves * Row::kElems > 1) asm("" : "+r"(x));
      const __m256 y0 = Row::y(row + half * Row::kHalfBytes, step, 0);
      const __m256 y1 = Row::y(row + half * Row::kHalfBytes, step, 1);
      CMM_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const __m256 value = _mm256_broadcast_ss(x + step * x_stride + r);
        sum[r][half][0] = _mm256_fmadd_ps(value, y0, sum[r][half][0]);
        sum[r][half][1] = _mm256_fmadd_ps(value, y1, sum[r][half][1]);
      }
    }
  }
}

template <class Row, int kRows, int kHalves>
void multiply_block(const BlockArgs& args) {
  __m256 sum[kRows][kHalves][2];
  CMM_UNROLL
  for (int r = 0; r < kRows; ++r) {
    CMM_UNROLL
    for (int v = 0; v < 2 * kHalves; ++v) {
      sum[r][v / 2][v % 2] = args.acc_in == nullptr
                                 ? _mm256_setzero_ps()
                                 : _mm256_loadu_ps(args.acc_in + r * args.acc_stride + 8 * v);
    }
  }

  const float* x = args.x;
  const std::byte* row = args.y;
  const std::int64_t full_rows = args.k / Row::kElems;
  for (std::int64_t i = 0; i < full_rows; ++i) {
    if (args.ahead_bytes != 0) {
      CMM_UNROLL
      for (int line = 0; line < kHalves * Row::kHalfBytes; line += 64) {
        _mm_prefetch(reinterpret_cast<const char*>(row + args.ahead_bytes + line), _MM_HINT_T0);
      }
    }
    if (args.ahead != nullptr) {
      CMM_UNROLL
      for (int line = 0; line < kHalves * Row::kHalfBytes; line += 64) args.ahead->fetch();
    }
    add_row<Row, kRows, kHalves>(x, args.x_stride, row, Row::kElems, sum);
    x += Row::kElems * args.x_stride;
    row += args.row_bytes;
  }
  // An odd k leaves half a row, whose padding must not take part (0 * Inf).
  if (args.k % Row::kElems != 0) add_row<Row, kRows, kHalves>(x, args.x_stride, row, 1, sum);

  CMM_UNROLL
  for (int r = 0; r < kRows; ++r) {
    CMM_UNROLL
    for (int v = 0; v < 2 * kHalves; ++v) {
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
  const bool one_run = args.prefetch_l2 != nullptr && args.prefetch_l2_runs == 1;
  const std::int64_t hint_bytes = one_run ? args.prefetch_l2_bytes : 0;
  for (std::int64_t run = 0; !one_run && run < args.prefetch_l2_runs; ++run) {
    prefetch_range(args.prefetch_l2 + run * args.prefetch_l2_stride, args.prefetch_l2_bytes);
  }
  for (int column = 0; column < columns; column += kHalfColumns) {
    const std::int64_t hint_begin = hint_bytes * column / columns;
    prefetch_range(args.prefetch_l2 + hint_begin,
                   hint_bytes * (column + kHalfColumns) / columns - hint_begin);
    const std::byte* panel = column < kPanelColumns ? args.panel0 : args.panel1;
    multiply_block<F32Row, kRows, 1>(
        {.x = static_cast<const float*>(args.x),
         .x_stride = kRows,
         .y = panel + column % kPanelColumns / kHalfColumns * F32Row::kHalfBytes,
         .row_bytes = F32Row::kRowBytes,
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

// Decode. Two panels side by side are cut in blocks of k. What fits in the registers, up to 6 rows
// by half a panel or 3 rows by a whole one, is a part; all parts of a block take turns while it is
// in L1, and those of the first rows prefetch the next block.
constexpr std::int64_t kDecodeBlockRows = 64;
constexpr int kDecodePanels = 2;
constexpr int kMaxDecodeRows = 24;

template <class Row>
void decode_block(int num_rows, const BlockArgs& panel_block) {
  using Part = void (*)(const BlockArgs&);
  static constexpr Part kWhole[] = {nullptr, multiply_block<Row, 1, 2>, multiply_block<Row, 2, 2>,
                                    multiply_block<Row, 3, 2>};
  static constexpr Part kHalf[] = {nullptr,
                                   nullptr,
                                   multiply_block<Row, 2, 1>,
                                   multiply_block<Row, 3, 1>,
                                   multiply_block<Row, 4, 1>,
                                   multiply_block<Row, 5, 1>,
                                   multiply_block<Row, 6, 1>};
  if (num_rows <= 3) return kWhole[num_rows](panel_block);
  // Two steps of 6 rows are more than g++ 12 keeps in 16 registers.
  constexpr int kMaxPartRows = Row::kElems > 1 ? 5 : 6;
  const int num_tiles = (num_rows + kMaxPartRows - 1) / kMaxPartRows;
  int row = 0;
  for (int t = 0; t < num_tiles; ++t) {
    const int rows = num_rows / num_tiles + (t < num_rows % num_tiles ? 1 : 0);
    for (int half = 0; half < 2; ++half) {
      BlockArgs part = panel_block;
      const std::int64_t acc_offset = row * part.acc_stride + half * kHalfColumns;
      part.x += row;
      part.y += half * Row::kHalfBytes;
      part.ahead_bytes = t == 0 ? part.ahead_bytes : 0;
      part.ahead = t == 0 ? part.ahead : nullptr;
      part.acc_in = part.acc_in == nullptr ? nullptr : part.acc_in + acc_offset;
      part.acc_out += acc_offset;
      kHalf[rows](part);
    }
    row += rows;
  }
}

template <class Row>
void decode(const DecodeArgs& args) {
  constexpr std::int64_t kBlockElems = kDecodeBlockRows * Row::kElems;
  constexpr std::int64_t kBlockBytes = kDecodeBlockRows * Row::kRowBytes;
  for (int first = 0; first < args.num_panels; first += kDecodePanels) {
    std::int64_t k0 = 0;
    do {
      const std::int64_t k = args.k - k0 < kBlockElems ? args.k - k0 : kBlockElems;
      for (int p = first; p < first + kDecodePanels && p < args.num_panels; ++p) {
        float* acc = args.acc + p * kPanelColumns;
        decode_block<Row>(args.rows,
                          {.x = static_cast<const float*>(args.x) + k0 * args.rows,
                           .x_stride = args.rows,
                           .y = args.panels + p * args.panel_bytes + k0 / kBlockElems * kBlockBytes,
                           .row_bytes = Row::kRowBytes,
                           .k = k,
                           .ahead_bytes = kBlockBytes,
                           .acc_in = k0 == 0 ? nullptr : acc,
                           .acc_out = acc,
                           .acc_stride = std::int64_t{kPanelColumns} * args.num_panels});
      }
      k0 += k;
    } while (k0 < args.k);
  }
}

// A block of rows of y, panel by panel; the next block is fetched to L2 in the order of memory.
template <class Row>
void decode_rows_of_y(const DecodeViewArgs& args) {
  const std::int64_t row_bytes = args.stride * (Row::kRowBytes / kPanelColumns);
  Ahead ahead({.begin = static_cast<const std::byte*>(args.next_y),
               .run_bytes = std::int64_t{args.num_panels} * Row::kRowBytes,
               .num_runs = args.k,
               .stride = row_bytes},
              args.x);
  for (int p = 0; p < args.num_panels; ++p) {
    float* acc = args.acc + p * kPanelColumns;
    decode_block<Row>(args.rows, {.x = static_cast<const float*>(args.x),
                                  .x_stride = args.rows,
                                  .y = static_cast<const std::byte*>(args.y) + p * Row::kRowBytes,
                                  .row_bytes = row_bytes,
                                  .k = args.k,
                                  .ahead = &ahead,
                                  .acc_in = args.first ? nullptr : acc,
                                  .acc_out = acc,
                                  .acc_stride = args.acc_stride});
  }
}

// 32 columns of y at a time, packed in L1 a few steps at a time. Each column is a stream that the
// processor follows.
template <class Source>
void decode_columns_of_y(const DecodeViewArgs& args) {
  constexpr std::int64_t kBlock = 16;
  constexpr std::int64_t kColumnAheadBytes = 1024;
  using Elem = typename Source::Elem;
  for (int p = 0; p < args.num_panels; ++p) {
    const Elem* y = static_cast<const Elem*>(args.y) + p * kPanelColumns * args.stride;
    float* acc = args.acc + p * kPanelColumns;
    for (std::int64_t k0 = 0; k0 < args.k || k0 == 0; k0 += kBlock, y += kBlock) {
      const std::int64_t k = args.k - k0 < kBlock ? args.k - k0 : kBlock;
      alignas(64) float block[kBlock * kPanelColumns];
      for (int column = 0; column < kPanelColumns; ++column) {
        const Elem* ahead = y + column * args.stride;
        _mm_prefetch(reinterpret_cast<const char*>(ahead) + kColumnAheadBytes, _MM_HINT_T1);
      }
      pack_rows<Source>({.x = y,
                         .row_stride = args.stride,
                         .rows = kPanelColumns,
                         .k = k,
                         .out = block,
                         .out_rows = kPanelColumns});
      decode_block<F32Row>(args.rows, {.x = static_cast<const float*>(args.x) + k0 * args.rows,
                                       .x_stride = args.rows,
                                       .y = reinterpret_cast<const std::byte*>(block),
                                       .row_bytes = F32Row::kRowBytes,
                                       .k = k,
                                       .acc_in = args.first && k0 == 0 ? nullptr : acc,
                                       .acc_out = acc,
                                       .acc_stride = args.acc_stride});
    }
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

template <class Source, class Row, class ViewRow, WidenFunction widen_function>
constexpr TypeKernels type_kernels() {
  return {.tile = {nullptr, tile<1>, tile<2>, tile<3>, tile<4>, tile<5>, tile<6>},
          .widen = widen_function,
          .pack_rows = pack_rows<Source>,
          .pack_columns = pack_columns<Source>,
          .decode = decode<Row>,
          .max_decode_rows = kMaxDecodeRows,
          .decode_rows_of_y = decode_rows_of_y<ViewRow>,
          .decode_columns_of_y = decode_columns_of_y<Source>,
          .register_loop = register_loop,
          .register_loop_flops = 2.0 * 8 * kLoopSums};
}

constexpr Kernels kTable = {
    .isa = Isa::kAvx2,
    .f32 = type_kernels<F32Source, F32Row, F32Row, nullptr>(),
    .bf16 = type_kernels<BF16Source, BF16Row, BF16ViewRow, widen<BF16Row>>(),
    .f16 = type_kernels<F16Source, F16Row, F16Row, widen<F16Row>>(),
    .store = store,
};

}  // namespace

const Kernels& avx2_kernels() { return kTable; }

}  // namespace cmm::gemm
