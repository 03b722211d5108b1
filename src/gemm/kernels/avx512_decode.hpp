// Few rows times many panels on AVX-512, y-stationary: the panels' memory is read once.
//
// Up to 6 rows go over several panels side by side, sums in registers over all of k. More rows go
// over one panel in blocks, 12 rows at a time, which take turns on a block while it is in L1:
//
//     panel       | block 0 | block 1 | ...      rows 0-11, then 12-23 multiply block 0; meanwhile
//                                                each of the two prefetches half of block 1
//
// One memory stream does not fill a core's bandwidth, and a core that multiplies does not run far
// enough ahead of its loads: what comes next is prefetched to L1. On Zen 5 two or four panels in
// turn lost 5-20 % against one, and tiles of 6 rows x 64 columns 5-10 %.
// Internal linkage: see avx512_tile.hpp.
#pragma once

#include <cstdint>

#include "gemm/kernels.hpp"
#include "gemm/kernels/avx512_formats.hpp"
#include "gemm/kernels/unroll.hpp"

namespace cmm::gemm {
namespace {

// At most 24 accumulators of the 32 registers.
inline constexpr int kMaxBlockRows = 12;
inline constexpr int kMaxDecodeRows = 2 * kMaxBlockRows;
constexpr int panels_side_by_side(int rows) { return rows <= 3 ? 4 : rows == 4 ? 3 : 2; }

// Bytes prefetched ahead, over all panels side by side. On Zen 5, 4 KB loses 10 % from 4 rows on
// and 16 KB up to 10 %.
inline constexpr std::int64_t kAheadBytes = 8192;

struct DecodeTile {
  const float* x = nullptr;      // first row of the tile, first step
  std::int64_t x_stride = 0;     // from step to step
  const std::byte* y = nullptr;  // first panel
  std::int64_t panel_bytes = 0;  // from panel to panel
  std::int64_t k = 0;            // elements of k; odd only at the end of an odd k
  std::int64_t ahead_bytes = 0;  // from a row of y to the lines prefetched with it
  float* acc = nullptr;          // [rows of the tile][32 * panels side by side]
  std::int64_t acc_stride = 0;   // from row to row
  bool first = false;            // start from +0, else from acc
};

// Multiplies one row of each panel into the sums.
template <class Row, int kRows, int kPanels>
[[gnu::always_inline]] inline void decode_row(const Row& format, const float* x,
                                              std::int64_t x_stride, const std::byte* row,
                                              std::int64_t panel_bytes, int num_steps,
                                              __m512 (&sum)[kRows][kPanels][2]) {
  CMM_UNROLL
  for (int p = 0; p < kPanels; ++p) {
    typename Row::Raw raw;
    format.load(row + p * panel_bytes, raw);
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

// `acc` nullptr: from +0.
template <int kRows, int kPanels>
[[gnu::always_inline]] inline void load_sums(const float* acc, std::int64_t acc_stride,
                                             __m512 (&sum)[kRows][kPanels][2]) {
  CMM_UNROLL
  for (int r = 0; r < kRows; ++r) {
    CMM_UNROLL
    for (int v = 0; v < 2 * kPanels; ++v) {
      sum[r][v / 2][v % 2] =
          acc == nullptr ? _mm512_setzero_ps() : _mm512_loadu_ps(acc + r * acc_stride + 16 * v);
    }
  }
}

template <int kRows, int kPanels>
[[gnu::always_inline]] inline void store_sums(const __m512 (&sum)[kRows][kPanels][2], float* acc,
                                              std::int64_t acc_stride) {
  CMM_UNROLL
  for (int r = 0; r < kRows; ++r) {
    CMM_UNROLL
    for (int v = 0; v < 2 * kPanels; ++v) {
      _mm512_storeu_ps(acc + r * acc_stride + 16 * v, sum[r][v / 2][v % 2]);
    }
  }
}

template <class Row>
inline constexpr int kRowLines = Row::kRowBytes / 64;

// kLines: how many lines of each panel are prefetched per row.
template <class Row, int kRows, int kPanels, int kLines>
void decode_tile(const DecodeTile& tile) {
  __m512 sum[kRows][kPanels][2];
  load_sums(tile.first ? nullptr : tile.acc, tile.acc_stride, sum);

  const float* x = tile.x;
  const std::byte* row = tile.y;
  const std::int64_t full_rows = tile.k / Row::kElems;
  for (std::int64_t i = 0; i < full_rows; ++i) {
    CMM_UNROLL
    for (int line = 0; line < kPanels * kLines; ++line) {
      const std::byte* ahead = row + line / kLines * tile.panel_bytes + tile.ahead_bytes;
      _mm_prefetch(reinterpret_cast<const char*>(ahead + line % kLines * 64), _MM_HINT_T0);
    }
    decode_row(Row{}, x, tile.x_stride, row, tile.panel_bytes, Row::kSteps, sum);
    x += Row::kSteps * tile.x_stride;
    row += Row::kRowBytes;
  }
  // An odd k leaves half a row. The padding must not take part (0 * Inf), except where the
  // instruction multiplies pairs and x is padded as well.
  if (tile.k % Row::kElems != 0) {
    decode_row(Row{}, x, tile.x_stride, row, tile.panel_bytes, 1, sum);
  }
  store_sums(sum, tile.acc, tile.acc_stride);
}

// All panels of the call, kPanels at a time, then fewer at a time for what is left.
template <class Row, int kRows, int kPanels = panels_side_by_side(kRows)>
void decode_side_by_side(const DecodeArgs& args, int first_panel = 0) {
  int p = first_panel;
  for (; p + kPanels <= args.num_panels; p += kPanels) {
    decode_tile<Row, kRows, kPanels, kRowLines<Row>>(
        {.x = static_cast<const float*>(args.x),
         .x_stride = kRows,
         .y = args.panels + p * args.panel_bytes,
         .panel_bytes = args.panel_bytes,
         .k = args.k,
         .ahead_bytes = kAheadBytes / kPanels,
         .acc = args.acc + p * kPanelColumns,
         .acc_stride = std::int64_t{kPanelColumns} * args.num_panels,
         .first = true});
  }
  if constexpr (kPanels > 1) {
    if (p < args.num_panels) decode_side_by_side<Row, kRows, kPanels / 2>(args, p);
  }
}

template <class Row, int kLines>
void decode_block(int rows, const DecodeTile& tile) {
  switch (rows) {
    case 7:
      return decode_tile<Row, 7, 1, kLines>(tile);
    case 8:
      return decode_tile<Row, 8, 1, kLines>(tile);
    case 9:
      return decode_tile<Row, 9, 1, kLines>(tile);
    case 10:
      return decode_tile<Row, 10, 1, kLines>(tile);
    case 11:
      return decode_tile<Row, 11, 1, kLines>(tile);
    case 12:
      return decode_tile<Row, 12, 1, kLines>(tile);
    default:  // the second part of 13 rows
      return decode_tile<Row, 6, 1, kLines>(tile);
  }
}

// 7 or more rows: one part, or two even ones.
template <class Row>
void decode_blocks(const DecodeArgs& args) {
  constexpr std::int64_t kBlockRows = kAheadBytes / Row::kRowBytes;  // of the panel
  constexpr std::int64_t kBlockElems = kBlockRows * Row::kElems;
  constexpr int kElemsPerStep = Row::kElems / Row::kSteps;
  const int first_part = args.rows <= kMaxBlockRows ? args.rows : (args.rows + 1) / 2;
  const int second_part = args.rows - first_part;
  for (int p = 0; p < args.num_panels; ++p) {
    std::int64_t k0 = 0;
    do {
      DecodeTile tile = {.x = static_cast<const float*>(args.x) + k0 / kElemsPerStep * args.rows,
                         .x_stride = args.rows,
                         .y = args.panels + p * args.panel_bytes + k0 / kBlockElems * kAheadBytes,
                         .panel_bytes = args.panel_bytes,
                         .k = args.k - k0 < kBlockElems ? args.k - k0 : kBlockElems,
                         .ahead_bytes = kAheadBytes,
                         .acc = args.acc + p * kPanelColumns,
                         .acc_stride = std::int64_t{kPanelColumns} * args.num_panels,
                         .first = k0 == 0};
      if (second_part == 0) {
        decode_block<Row, kRowLines<Row>>(first_part, tile);
      } else {
        decode_block<Row, 1>(first_part, tile);
        tile.x += first_part;
        tile.acc += first_part * tile.acc_stride;
        tile.ahead_bytes += 64;
        decode_block<Row, 1>(second_part, tile);
      }
      k0 += tile.k;
    } while (k0 < args.k);
  }
}

template <class Row>
void decode(const DecodeArgs& args) {
  switch (args.rows) {
    case 1:
      return decode_side_by_side<Row, 1>(args);
    case 2:
      return decode_side_by_side<Row, 2>(args);
    case 3:
      return decode_side_by_side<Row, 3>(args);
    case 4:
      return decode_side_by_side<Row, 4>(args);
    case 5:
      return decode_side_by_side<Row, 5>(args);
    case 6:
      return decode_side_by_side<Row, 6>(args);
    default:
      return decode_blocks<Row>(args);
  }
}

}  // namespace
}  // namespace cmm::gemm
