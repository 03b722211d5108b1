// Few rows times many panels on AVX-512, y-stationary: the panels' memory is read once, several
// panels side by side, because one memory stream does not fill a core's bandwidth.
// Internal linkage: see avx512_tile.hpp.
#pragma once

#include <cstdint>

#include "gemm/kernels.hpp"
#include "gemm/kernels/avx512_formats.hpp"
#include "gemm/kernels/unroll.hpp"

namespace cmm::gemm {
namespace {

inline constexpr int kMaxDecodeRows = 12;

// Panels side by side: 8 streams at 1 row, and at most 24 accumulators of the 32 registers.
constexpr int panels_side_by_side(int rows) {
  return rows == 1 ? 8 : rows <= 3 ? 4 : rows <= 6 ? 2 : 1;
}

// Multiplies one row of each panel into the sums.
template <class Row, int kRows, int kPanels>
[[gnu::always_inline]] inline void decode_step(const float* x, const std::byte* row,
                                               std::int64_t panel_bytes, int num_steps,
                                               __m512 (&sum)[kRows][kPanels][2]) {
  CMM_UNROLL
  for (int p = 0; p < kPanels; ++p) {
    typename Row::Raw raw;
    Row::load(row + p * panel_bytes, raw);
    CMM_UNROLL
    for (int step = 0; step < Row::kSteps; ++step) {
      if (step >= num_steps) break;
      const __m512 y0 = Row::y(raw, step, 0);
      const __m512 y1 = Row::y(raw, step, 1);
      CMM_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const float value = x[step * kRows + r];
        sum[r][p][0] = Row::multiply_add(sum[r][p][0], value, y0);
        sum[r][p][1] = Row::multiply_add(sum[r][p][1], value, y1);
      }
    }
  }
}

// acc[kRows][acc_stride] = x * kPanels panels.
template <class Row, int kRows, int kPanels>
void decode_panels(const DecodeArgs& args, const std::byte* panels, float* acc) {
  __m512 sum[kRows][kPanels][2];
  CMM_UNROLL
  for (int r = 0; r < kRows; ++r) {
    CMM_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      sum[r][p][0] = _mm512_setzero_ps();
      sum[r][p][1] = _mm512_setzero_ps();
    }
  }

  const float* x = static_cast<const float*>(args.x);
  const std::byte* row = panels;
  const std::int64_t panel_bytes = args.panel_bytes;
  const std::int64_t full_rows = args.k / Row::kElems;
  for (std::int64_t i = 0; i < full_rows; ++i) {
    decode_step<Row, kRows, kPanels>(x, row, panel_bytes, Row::kSteps, sum);
    x += Row::kSteps * kRows;
    row += Row::kRowBytes;
  }
  // An odd k leaves half a row. The padding must not take part (0 * Inf), except where the
  // instruction multiplies pairs and x is padded as well.
  if (args.k % Row::kElems != 0) decode_step<Row, kRows, kPanels>(x, row, panel_bytes, 1, sum);

  const std::int64_t acc_stride = std::int64_t{kPanelColumns} * args.num_panels;
  CMM_UNROLL
  for (int r = 0; r < kRows; ++r) {
    CMM_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      _mm512_storeu_ps(acc + r * acc_stride + p * kPanelColumns, sum[r][p][0]);
      _mm512_storeu_ps(acc + r * acc_stride + p * kPanelColumns + 16, sum[r][p][1]);
    }
  }
}

// All panels of the call, kPanels at a time, then half as many at a time for what is left.
template <class Row, int kRows, int kPanels = panels_side_by_side(kRows)>
void decode_rows(const DecodeArgs& args, int first_panel = 0) {
  int p = first_panel;
  for (; p + kPanels <= args.num_panels; p += kPanels) {
    decode_panels<Row, kRows, kPanels>(args, args.panels + p * args.panel_bytes,
                                       args.acc + p * kPanelColumns);
  }
  if constexpr (kPanels > 1) {
    if (p < args.num_panels) decode_rows<Row, kRows, kPanels / 2>(args, p);
  }
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
    case 7:
      return decode_rows<Row, 7>(args);
    case 8:
      return decode_rows<Row, 8>(args);
    case 9:
      return decode_rows<Row, 9>(args);
    case 10:
      return decode_rows<Row, 10>(args);
    case 11:
      return decode_rows<Row, 11>(args);
    case 12:
      return decode_rows<Row, 12>(args);
  }
}

}  // namespace
}  // namespace cmm::gemm
