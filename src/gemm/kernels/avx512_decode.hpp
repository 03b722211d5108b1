// Few rows times many panels on AVX-512, y-stationary: the panels' memory is read once.
//
// Up to 12 rows are one tile whose sums stay in registers over all of k. More rows are several
// tiles, which take turns on a block of a pair of panels while it is in L1:
//
//     panel p     | block 0 | block 1 | ...      tiles 0, 1, 2 multiply block 0 one after another;
//     panel p + 1 | block 0 | block 1 | ...      meanwhile 0 and 1 prefetch block 1 of one panel
//
// One memory stream does not fill a core's bandwidth, and a core that multiplies does not run far
// enough ahead of its loads: panels go side by side, and what comes next is prefetched to L1.
// Internal linkage: see avx512_tile.hpp.
#pragma once

#include <cstdint>

#include "gemm/kernels.hpp"
#include "gemm/kernels/avx512_formats.hpp"
#include "gemm/kernels/unroll.hpp"

namespace cmm::gemm {
namespace {

inline constexpr int kMaxDecodeRows = 24;

// Panels side by side of a single tile: at most 24 accumulators of the 32 registers.
constexpr int panels_side_by_side(int rows) {
  return rows <= 3 ? 4 : rows == 4 ? 3 : rows <= 6 ? 2 : 1;
}

// Bytes prefetched ahead over all panels side by side of a single tile. On Zen 5, 4 KB loses 10 %
// from 4 rows on and 16 KB up to 10 %.
inline constexpr std::int64_t kAheadBytes = 8192;

// Rows of a panel in a block of several tiles: with the next block, 32 KB of L1.
inline constexpr std::int64_t kDecodeBlockRows = 64;

struct DecodeTile {
  const float* x = nullptr;          // first row of the tile, first step
  std::int64_t x_stride = 0;         // from step to step
  const std::byte* y = nullptr;      // first panel
  std::int64_t panel_bytes = 0;      // from panel to panel
  std::int64_t k = 0;                // elements of k; odd only at the end of an odd k
  float* acc = nullptr;              // [rows of the tile][32 * panels side by side]
  std::int64_t acc_stride = 0;       // from row to row
  bool first = false;                // start from +0, else from acc
  const std::byte* ahead = nullptr;  // one panel's block to prefetch, row by row
  std::int64_t ahead_row_bytes = 0;  // from row to row of it; 0: nothing to prefetch
};

inline void prefetch_row(const std::byte* row, int row_bytes) {
  for (int line = 0; line < row_bytes; line += 64) {
    _mm_prefetch(reinterpret_cast<const char*>(row + line), _MM_HINT_T0);
  }
}

// Multiplies one row of each panel into the sums.
template <class Row, int kRows, int kPanels>
[[gnu::always_inline]] inline void decode_row(const float* x, std::int64_t x_stride,
                                              const std::byte* row, std::int64_t panel_bytes,
                                              int num_steps, __m512 (&sum)[kRows][kPanels][2]) {
  CMM_UNROLL
  for (int p = 0; p < kPanels; ++p) {
    typename Row::Raw raw;
    Row::load(row + p * panel_bytes, raw);
    // Two steps of 6 broadcasts do not fit in the registers: they are loaded again for each panel.
    if constexpr (Row::kSteps > 1) asm("" : "+r"(x));
    CMM_UNROLL
    for (int step = 0; step < Row::kSteps; ++step) {
      if (step >= num_steps) break;
      const __m512 y0 = Row::y(raw, step, 0);
      const __m512 y1 = Row::y(raw, step, 1);
      CMM_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const float value = x[step * x_stride + r];
        sum[r][p][0] = Row::multiply_add(sum[r][p][0], value, y0);
        sum[r][p][1] = Row::multiply_add(sum[r][p][1], value, y1);
      }
    }
  }
}

// kAll: prefetches all panels kAheadBytes ahead in total; else the block `ahead`.
template <class Row, int kRows, int kPanels, bool kAll>
void decode_tile(const DecodeTile& tile) {
  __m512 sum[kRows][kPanels][2];
  CMM_UNROLL
  for (int r = 0; r < kRows; ++r) {
    CMM_UNROLL
    for (int v = 0; v < 2 * kPanels; ++v) {
      sum[r][v / 2][v % 2] = tile.first ? _mm512_setzero_ps()
                                        : _mm512_loadu_ps(tile.acc + r * tile.acc_stride + 16 * v);
    }
  }

  const float* x = tile.x;
  const std::int64_t x_stride = kAll ? kRows : tile.x_stride;
  const std::byte* row = tile.y;
  const std::byte* ahead = tile.ahead;
  const std::int64_t full_rows = tile.k / Row::kElems;
  for (std::int64_t i = 0; i < full_rows; ++i) {
    if constexpr (kAll) {
      CMM_UNROLL
      for (int p = 0; p < kPanels; ++p) {
        prefetch_row(row + p * tile.panel_bytes + kAheadBytes / kPanels, Row::kRowBytes);
      }
    } else {
      prefetch_row(ahead, Row::kRowBytes);
      ahead += tile.ahead_row_bytes;
    }
    decode_row<Row, kRows, kPanels>(x, x_stride, row, tile.panel_bytes, Row::kSteps, sum);
    x += Row::kSteps * x_stride;
    row += Row::kRowBytes;
  }
  // An odd k leaves half a row. The padding must not take part (0 * Inf), except where the
  // instruction multiplies pairs and x is padded as well.
  if (tile.k % Row::kElems != 0) {
    decode_row<Row, kRows, kPanels>(x, x_stride, row, tile.panel_bytes, 1, sum);
  }

  CMM_UNROLL
  for (int r = 0; r < kRows; ++r) {
    CMM_UNROLL
    for (int v = 0; v < 2 * kPanels; ++v) {
      _mm512_storeu_ps(tile.acc + r * tile.acc_stride + 16 * v, sum[r][v / 2][v % 2]);
    }
  }
}

// One tile: all panels of the call, kPanels at a time, then fewer at a time for what is left.
template <class Row, int kRows, int kPanels = panels_side_by_side(kRows)>
void decode_one_tile(const DecodeArgs& args, int first_panel = 0) {
  int p = first_panel;
  for (; p + kPanels <= args.num_panels; p += kPanels) {
    decode_tile<Row, kRows, kPanels, true>(
        {.x = static_cast<const float*>(args.x),
         .y = args.panels + p * args.panel_bytes,
         .panel_bytes = args.panel_bytes,
         .k = args.k,
         .acc = args.acc + p * kPanelColumns,
         .acc_stride = std::int64_t{kPanelColumns} * args.num_panels,
         .first = true});
  }
  if constexpr (kPanels > 1) {
    if (p < args.num_panels) decode_one_tile<Row, kRows, kPanels / 2>(args, p);
  }
}

// Several tiles, of 4 to 6 rows: balanced parts of 13 rows or more.
template <class Row>
void decode_tiles(const DecodeArgs& args) {
  using TilePart = void (*)(const DecodeTile&);
  static constexpr TilePart kParts[2][kTileRows + 1] = {
      {nullptr, nullptr, nullptr, nullptr, decode_tile<Row, 4, 1, false>,
       decode_tile<Row, 5, 1, false>, decode_tile<Row, 6, 1, false>},
      {nullptr, nullptr, nullptr, nullptr, decode_tile<Row, 4, 2, false>,
       decode_tile<Row, 5, 2, false>, decode_tile<Row, 6, 2, false>}};
  constexpr std::int64_t kBlockElems = kDecodeBlockRows * Row::kElems;
  constexpr std::int64_t kBlockBytes = kDecodeBlockRows * Row::kRowBytes;
  constexpr int kStepsPerElem = Row::kElems / Row::kSteps;

  const int num_tiles = (args.rows + kTileRows - 1) / kTileRows;
  const std::int64_t acc_stride = std::int64_t{kPanelColumns} * args.num_panels;
  for (int p = 0; p < args.num_panels; p += 2) {
    const int num_panels = p + 1 < args.num_panels ? 2 : 1;
    const std::byte* y = args.panels + p * args.panel_bytes;
    std::int64_t k0 = 0;
    do {
      const std::int64_t k = args.k - k0 < kBlockElems ? args.k - k0 : kBlockElems;
      // Next: the next block of these panels, or the first of the next pair.
      const bool last = k0 + k == args.k;
      const std::byte* next =
          last ? y + num_panels * args.panel_bytes : y + (k0 / kBlockElems + 1) * kBlockBytes;
      int row = 0;
      for (int t = 0; t < num_tiles; ++t) {
        const int rows = args.rows / num_tiles + (t < args.rows % num_tiles ? 1 : 0);
        const bool prefetches = t < num_panels;
        kParts[num_panels - 1][rows](
            {.x = static_cast<const float*>(args.x) + k0 / kStepsPerElem * args.rows + row,
             .x_stride = args.rows,
             .y = y + k0 / kBlockElems * kBlockBytes,
             .panel_bytes = args.panel_bytes,
             .k = k,
             .acc = args.acc + row * acc_stride + p * kPanelColumns,
             .acc_stride = acc_stride,
             .first = k0 == 0,
             .ahead = prefetches ? next + t * args.panel_bytes : y,
             .ahead_row_bytes = prefetches ? Row::kRowBytes : 0});
        row += rows;
      }
      k0 += k;
    } while (k0 < args.k);
  }
}

template <class Row>
void decode(const DecodeArgs& args) {
  switch (args.rows) {
    case 1:
      return decode_one_tile<Row, 1>(args);
    case 2:
      return decode_one_tile<Row, 2>(args);
    case 3:
      return decode_one_tile<Row, 3>(args);
    case 4:
      return decode_one_tile<Row, 4>(args);
    case 5:
      return decode_one_tile<Row, 5>(args);
    case 6:
      return decode_one_tile<Row, 6>(args);
    case 7:
      return decode_one_tile<Row, 7>(args);
    case 8:
      return decode_one_tile<Row, 8>(args);
    case 9:
      return decode_one_tile<Row, 9>(args);
    case 10:
      return decode_one_tile<Row, 10>(args);
    case 11:
      return decode_one_tile<Row, 11>(args);
    case 12:
      return decode_one_tile<Row, 12>(args);
    default:
      return decode_tiles<Row>(args);
  }
}

}  // namespace
}  // namespace cmm::gemm
