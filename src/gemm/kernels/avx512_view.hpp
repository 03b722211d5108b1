// Few rows times a y that is read where it lies, on AVX-512.
//
//   rows of y      a block of rows, as wide as the caller says: up to 64 columns at a time its rows
//                  are added to the sums, which wait in L1 or L2 for the next block. Meanwhile that
//                  block is fetched to L2 in the order of memory, a page at a time.
//   columns of y   16 columns, all of k: 16 steps are transposed in registers and multiplied at
//                  once. Each column is a stream that the processor follows.
//
// Both read a page of y once. Runs of 256 bytes, page after page, were read at 9 GB/s where memory
// gave 23 (Zen 4, pages of 4 KiB).
// Internal linkage: see avx512_tile.hpp.
#pragma once

#include <cstdint>

#include "gemm/kernels.hpp"
#include "gemm/kernels/ahead.hpp"
#include "gemm/kernels/avx512_decode.hpp"
#include "gemm/kernels/avx512_pack.hpp"
#include "gemm/kernels/unroll.hpp"

namespace cmm::gemm {
namespace {

// A row of y itself to registers, as F32Row (avx512_formats.hpp) for a row of a panel.
template <class Source>
struct ViewRow : F32Row {
  using LastRow = ViewRow;
  static constexpr int kElemBytes = Source::kElemBytes;
  explicit ViewRow(std::int64_t /*row_bytes*/) {}
  static void load(const std::byte* row, Raw& raw) {
    raw[0] = Source::load(row, 16);
    raw[1] = Source::load(row + 16 * kElemBytes, 16);
  }
};

// Lines of y that one step of kPanels panels takes.
template <class Row, int kPanels>
inline constexpr int kViewLines = kPanels* Row::kElems* Row::kElemBytes* kPanelColumns / 64;

// kRows rows of x by kPanels * 32 columns.
template <class Row, int kRows, int kPanels>
void view_tile(const DecodeViewArgs& args, std::int64_t panel, Ahead& shared_ahead) {
  auto ahead = shared_ahead;  // in registers
  constexpr std::int64_t kPanelBytes = kPanelColumns * Row::kElemBytes;
  const std::int64_t row_bytes = args.stride * Row::kElemBytes;
  const auto* x = static_cast<const float*>(args.x);
  const std::byte* row = static_cast<const std::byte*>(args.y) + panel * kPanelBytes;
  float* acc = args.acc + panel * kPanelColumns;
  __m512 sum[kRows][kPanels][2];
  load_sums(args.first ? nullptr : acc, args.acc_stride, sum);
  const Row format(row_bytes);
  for (std::int64_t i = 0; i < args.k / Row::kElems; ++i) {
    CMM_UNROLL
    for (int line = 0; line < kViewLines<Row, kPanels>; ++line) ahead.fetch();
    // 7 or 8 rows of x go over a panel at a time: the next one's lines to L1, 1.2 times as fast for
    // 8 rows of f32 on Zen 4. Fewer rows lose by it.
    CMM_UNROLL
    for (int line = 0; kPanels == 1 && line < kViewLines<Row, 1>; ++line) {
      const std::byte* next = row + line % Row::kElems * row_bytes + kPanelBytes;
      _mm_prefetch(reinterpret_cast<const char*>(next + line / Row::kElems * 64), _MM_HINT_T0);
    }
    decode_row(format, x, kRows, row, kPanelBytes, 1, sum);
    x += kRows;
    row += Row::kElems * row_bytes;
  }
  if (args.k % Row::kElems != 0) {
    decode_row(typename Row::LastRow(row_bytes), x, kRows, row, kPanelBytes, 1, sum);
  }
  store_sums(sum, acc, args.acc_stride);
  shared_ahead = ahead;
}

template <class Row, int kRows>
void decode_view_rows(const DecodeViewArgs& args) {
  constexpr int kPanels = kRows <= 6 ? 2 : 1;  // at most 24 accumulators
  Ahead ahead({.begin = static_cast<const std::byte*>(args.next_y),
               .run_bytes = std::int64_t{args.num_panels} * kPanelColumns * Row::kElemBytes,
               .num_runs = args.k,
               .stride = args.stride * Row::kElemBytes},
              args.x);
  int panel = 0;
  for (; panel + kPanels <= args.num_panels; panel += kPanels) {
    view_tile<Row, kRows, kPanels>(args, panel, ahead);
  }
  if (panel < args.num_panels) {
    Ahead idle({}, args.x);
    view_tile<Row, kRows, 1>(args, panel, idle);
  }
}

// By rows of x.
template <class Row>
void decode_rows_of_y(const DecodeViewArgs& args) {
  static constexpr DecodeViewFunction kFunctions[kMaxDecodeViewRows + 1] = {
      nullptr,
      decode_view_rows<Row, 1>,
      decode_view_rows<Row, 2>,
      decode_view_rows<Row, 3>,
      decode_view_rows<Row, 4>,
      decode_view_rows<Row, 5>,
      decode_view_rows<Row, 6>,
      decode_view_rows<Row, 7>,
      decode_view_rows<Row, 8>};
  kFunctions[args.rows](args);
}

// A column is asked for so far ahead of its use, at its end the column 16 further on. On Zen 4,
// 2048 bytes are alike and 512 lose 12 % at 8 rows.
inline constexpr std::int64_t kColumnAheadBytes = 1024;

// Adds up to 16 steps of 16 columns. Inlined with a constant num_elems, but for the last ones.
template <class Source, class Row, int kRows>
[[gnu::always_inline]] inline void add_columns(const float* x, const std::byte* y,
                                               std::int64_t column_bytes, std::int64_t ahead_bytes,
                                               std::int64_t num_elems, __m512 (&sum)[kRows]) {
  __m512 step[16];
  CMM_UNROLL
  for (int i = 0; i < 16; ++i) {
    if (i % 4 == 0 && i > 0) y += 4 * column_bytes;
    asm("" : "+r"(y));  // else 32 addresses are kept, in memory
    const std::byte* from = y + i % 4 * column_bytes;
    _mm_prefetch(reinterpret_cast<const char*>(from + ahead_bytes), _MM_HINT_T1);
    step[i] = Source::load(from, num_elems);
  }
  transpose(step);
  CMM_UNROLL
  for (int i = 0; i < 16; ++i) {
    if (i * Source::kElemsPerStep >= num_elems) break;
    CMM_UNROLL
    for (int r = 0; r < kRows; ++r) {
      sum[r] = Row::multiply_add(sum[r], x[i * kRows + r], step[i]);
    }
  }
}

template <class Source, class Row, int kRows>
void decode_view_columns(const DecodeViewArgs& args) {
  constexpr std::int64_t kBlockElems = 16 * Source::kElemsPerStep;
  const std::int64_t column_bytes = args.stride * Source::kElemBytes;
  for (std::int64_t column = 0; column < std::int64_t{args.num_panels} * kPanelColumns;
       column += 16) {
    const auto* x = static_cast<const float*>(args.x);
    const std::byte* y = static_cast<const std::byte*>(args.y) + column * column_bytes;
    float* acc = args.acc + column;
    __m512 sum[kRows];
    CMM_UNROLL
    for (int r = 0; r < kRows; ++r) {
      sum[r] = args.first ? _mm512_setzero_ps() : _mm512_loadu_ps(acc + r * args.acc_stride);
    }
    const bool last = column + 16 == std::int64_t{args.num_panels} * kPanelColumns;
    const std::int64_t next_columns_bytes =
        last ? 0 : 16 * column_bytes - args.k * Source::kElemBytes + kColumnAheadBytes;
    std::int64_t left = args.k;
    for (; left >= kBlockElems; left -= kBlockElems) {
      const std::int64_t ahead_bytes =
          left * Source::kElemBytes > kColumnAheadBytes ? kColumnAheadBytes : next_columns_bytes;
      add_columns<Source, Row, kRows>(x, y, column_bytes, ahead_bytes, kBlockElems, sum);
      x += 16 * kRows;
      y += kBlockElems * Source::kElemBytes;
    }
    if (left > 0) add_columns<Source, Row, kRows>(x, y, column_bytes, 0, left, sum);
    CMM_UNROLL
    for (int r = 0; r < kRows; ++r) _mm512_storeu_ps(acc + r * args.acc_stride, sum[r]);
  }
}

template <class Source, class Row>
void decode_columns_of_y(const DecodeViewArgs& args) {
  static constexpr DecodeViewFunction kFunctions[kMaxDecodeViewRows + 1] = {
      nullptr,
      decode_view_columns<Source, Row, 1>,
      decode_view_columns<Source, Row, 2>,
      decode_view_columns<Source, Row, 3>,
      decode_view_columns<Source, Row, 4>,
      decode_view_columns<Source, Row, 5>,
      decode_view_columns<Source, Row, 6>,
      decode_view_columns<Source, Row, 7>,
      decode_view_columns<Source, Row, 8>};
  kFunctions[args.rows](args);
}

}  // namespace
}  // namespace cmm::gemm
