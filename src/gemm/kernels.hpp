// The boundary between the drivers and the instruction sets: one table of functions per set, all
// with the same signatures, one source file per set (kernels/).
//
// Layouts.
//   step          one 4-byte unit of k: one k in f32, or two k (even one in the low half) in bf16
//                 pairs; later four k in bytes. Packed x and panels count k in steps.
//   panel         32 columns of y, k inner:
//                   f32    [k][32] f32                       128 bytes per k
//                   bf16   [ceil(k/2)][32][2] bf16           128 bytes per 2 k, odd k padded by 0
//                   f16    [k][32] f16                        64 bytes per k
//   packed tile   up to 6 rows of x: [step][rows], f32 or bf16 pairs
//   accumulators  [rows][64] f32 for a pair of panels: 1536 bytes for 6 rows
//
// The result is defined: acc = fmaf(x[i,k], y[k,j], acc) over ascending k, one accumulator per
// output. A kernel that starts from acc_in and runs a block of k therefore continues the chain.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cmm/dtype.hpp"
#include "cmm/epilogue.hpp"
#include "cmm/isa.hpp"

namespace cmm::gemm {

inline constexpr int kPanelColumns = 32;
inline constexpr int kPairColumns = 2 * kPanelColumns;
inline constexpr int kTileRows = 6;      // 6 x 64: 24 zmm accumulators, 10 loads for 24 FMAs
inline constexpr int kBlockSteps = 128;  // a pair of panels is 32 KB per block: stays in L1

// acc[rows][64] = acc_in + x block * panel block, for one or two panels.
struct TileArgs {
  const void* x = nullptr;            // packed tile block, [num_steps][rows] of 4 bytes
  const std::byte* panel0 = nullptr;  // [num_steps] rows of 128 bytes, 64-byte aligned
  const std::byte* panel1 = nullptr;  // same for the next 32 columns; nullptr: one panel only
  std::int64_t num_steps = 0;         // >= 0
  const float* acc_in = nullptr;      // [rows][64]; nullptr: start from +0
  float* acc_out = nullptr;           // [rows][64], may be acc_in
  // Hints, all optional: memory wanted next, to be fetched while this tile computes.
  const std::byte* prefetch_l2 = nullptr;  // next panel block or packed x
  std::int64_t prefetch_l2_bytes = 0;
  std::int64_t prefetch_l2_runs = 1;    // of as many bytes each
  std::int64_t prefetch_l2_stride = 0;  // bytes from run to run
  const float* next_acc = nullptr;      // accumulators of the next tile
};
using TileFunction = void (*)(const TileArgs& args);

// acc[rows][32 * num_panels] = x * panels over all of k, in one pass over the panels' memory.
struct DecodeArgs {
  const void* x = nullptr;            // [steps of k][rows], 4 bytes each; f32, or bf16 pairs in a
                                      // native bf16 table
  int rows = 0;                       // 1 .. max_decode_rows
  const std::byte* panels = nullptr;  // first panel
  std::int64_t panel_bytes = 0;       // from one panel to the next
  int num_panels = 0;                 // 1 .. kMaxDecodePanels
  std::int64_t k = 0;
  float* acc = nullptr;  // [rows][32 * num_panels]
};
using DecodeFunction = void (*)(const DecodeArgs& args);
inline constexpr int kMaxDecodePanels = 16;

// acc[rows][32 * num_panels] = acc_in + x * a block of y, which is read where it lies.
struct DecodeViewArgs {
  const void* x = nullptr;  // from the block's first step on, as in DecodeArgs
  int rows = 0;             // 1 .. kMaxDecodeViewRows
  const void* y = nullptr;  // first k, first column, of the table's dtype
  std::int64_t stride = 0;  // elements from one row of y to the next, or from column to column;
                            // the others are neighbours
  std::int64_t k = 0;       // odd only at the end of an odd k
  int num_panels = 0;       // of 32 columns, all of them there
  const void* next_y = nullptr;  // hint, or nullptr: the next block of as many rows of y
  float* acc = nullptr;          // [rows][acc_stride]
  std::int64_t acc_stride = 0;
  bool first = false;  // start from +0, else from acc
};
using DecodeViewFunction = void (*)(const DecodeViewArgs& args);
// More rows than this hide the packing of y in strips behind the multiply.
inline constexpr int kMaxDecodeViewRows = 8;
inline constexpr int kMaxDecodeViewPanels = 64;

// Rows of x into a packed tile block: out[step][rows].
struct PackRowsArgs {
  const void* x = nullptr;      // first row, first k of the block, of the table's dtype
  std::int64_t row_stride = 0;  // elements
  int rows = 0;                 // 1 .. 6 for tiles, more for decode
  std::int64_t k = 0;           // elements of k in this block; an odd last one is padded with 0
                                // where steps are pairs
  void* out = nullptr;          // [steps][out_rows]: the rows go to the first columns of it
  int out_rows = 0;             // >= rows
};
using PackRowsFunction = void (*)(const PackRowsArgs& args);

// A block of y itself to the panel block that the tile function reads: out[k][32] f32, or pairs.
struct PackColumnsArgs {
  const void* y = nullptr;    // first k, first of 32 columns, of the table's dtype
  std::int64_t k_stride = 0;  // elements; columns are neighbours
  std::int64_t k = 0;         // an odd last one is padded with 0 where steps are pairs
  void* out = nullptr;        // 64-byte aligned
};
using PackColumnsFunction = void (*)(const PackColumnsArgs& args);

// A block of a 16-bit panel to f32: out[k][32], exact.
struct WidenArgs {
  const std::byte* panel = nullptr;  // at an even k
  std::int64_t k = 0;
  float* out = nullptr;
};
using WidenFunction = void (*)(const WidenArgs& args);

// Accumulators to output: bias, activation or SwiGLU, one rounding, NaN made canonical.
// Writes exactly rows x cols elements; never reads out.
struct StoreArgs {
  const float* acc = nullptr;     // [rows][acc_stride]
  const float* acc_up = nullptr;  // SwiGLU: out = silu(acc + bias) * (acc_up + bias_up)
  std::int64_t acc_stride = 0;
  int rows = 0;
  int cols = 0;
  const float* bias = nullptr;  // [cols] or nullptr
  const float* bias_up = nullptr;
  Activation activation = Activation::kNone;
  void* out = nullptr;  // first element
  DType out_dtype = DType::kF32;
  std::int64_t out_stride = 0;  // elements
};
using StoreFunction = void (*)(const StoreArgs& args);

// Runs multiply-adds between registers, for measuring the peak (probe.hpp); returns their sum.
using RegisterLoopFunction = float (*)(std::int64_t rounds);

// How one dtype of x and y is multiplied by one instruction set.
struct TypeKernels {
  bool bf16_pairs = false;                // native bf16: packed x and panels in pairs, no widening
  TileFunction tile[kTileRows + 1] = {};  // by number of rows, 1 .. 6; f32 panels, or pairs
  WidenFunction widen = nullptr;          // nullptr where panels feed the tile kernel as they are
  PackRowsFunction pack_rows = nullptr;   // from the dtype to f32 steps, or to pairs
  PackColumnsFunction pack_columns = nullptr;  // likewise
  DecodeFunction decode = nullptr;
  int max_decode_rows = 0;
  DecodeViewFunction decode_rows_of_y = nullptr;     // whose elements of a row are neighbours
  DecodeViewFunction decode_columns_of_y = nullptr;  // of a column
  RegisterLoopFunction register_loop = nullptr;
  double register_loop_flops = 0;  // of one round
};

struct Kernels {
  Isa isa = Isa::kPortable;
  TypeKernels f32;
  TypeKernels bf16;
  TypeKernels f16;
  StoreFunction store = nullptr;

  const TypeKernels& type(DType dtype) const {
    return dtype == DType::kF32 ? f32 : dtype == DType::kBF16 ? bf16 : f16;
  }
};

// The table of an instruction set that isa_supported(). Throws Error(kUnsupported) otherwise.
const Kernels& kernels(Isa isa);

}  // namespace cmm::gemm
