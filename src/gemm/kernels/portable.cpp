// Plain C++ for any processor, and the reference the other tables are tested against. No
// intrinsics: loops with a fixed trip count that compilers turn into vector code where the target
// has a fused multiply-add (AArch64). On x86-64 without flags each fma is a call of libm: right,
// not fast.
#include <cstring>

#include "gemm/kernels/store.hpp"
#include "gemm/kernels/tables.hpp"
#include "gemm/kernels/unroll.hpp"

namespace cmm::gemm {
namespace {

// Columns computed per pass over the steps: 6 x 16 accumulators are 24 of the 32 vector registers
// of AArch64, which leaves 4 for the panel row and 4 for x.
constexpr int kPassColumns = 16;

// acc[rows][kPassColumns] += x * panel, ascending steps.
template <int rows>
void tile_pass(const float* x, const float* panel, std::int64_t num_steps,
               float (&acc)[rows][kPassColumns]) {
  for (std::int64_t step = 0; step < num_steps; ++step) {
    CMM_UNROLL
    for (int i = 0; i < rows; ++i) {
      CMM_UNROLL
      for (int j = 0; j < kPassColumns; ++j) {
        acc[i][j] = __builtin_fmaf(x[i], panel[j], acc[i][j]);
      }
    }
    x += rows;
    panel += kPanelColumns;
  }
}

template <int rows>
void tile(const TileArgs& args) {
  const auto* x = static_cast<const float*>(args.x);
  const int columns = args.panel1 == nullptr ? kPanelColumns : kPairColumns;
  for (int first = 0; first < columns; first += kPassColumns) {
    const std::byte* panel = first < kPanelColumns ? args.panel0 : args.panel1;
    float acc[rows][kPassColumns] = {};
    if (args.acc_in != nullptr) {
      for (int i = 0; i < rows; ++i) {
        std::memcpy(acc[i], args.acc_in + i * kPairColumns + first, sizeof acc[i]);
      }
    }
    tile_pass<rows>(x, reinterpret_cast<const float*>(panel) + first % kPanelColumns,
                    args.num_steps, acc);
    for (int i = 0; i < rows; ++i) {
      std::memcpy(args.acc_out + i * kPairColumns + first, acc[i], sizeof acc[i]);
    }
  }
}

float f32_of_bf16(std::uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}

// Exact. Multiplying by 2^112 moves the exponent to the bias of f32 and normalises subnormals.
float f32_of_f16(std::uint16_t bits) {
  const std::uint32_t magnitude = bits & 0x7fffu;
  const float scaled = __builtin_bit_cast(float, magnitude << 13) * 0x1p112f;
  const std::uint32_t special = 0x7f800000u | (magnitude << 13);
  const std::uint32_t value =
      magnitude >= 0x7c00u ? special : __builtin_bit_cast(std::uint32_t, scaled);
  return __builtin_bit_cast(float, value | static_cast<std::uint32_t>(bits & 0x8000u) << 16);
}

void widen_bf16(const WidenArgs& args) {
  const auto* pairs = reinterpret_cast<const std::uint16_t*>(args.panel);
  for (std::int64_t k = 0; k < args.k; ++k) {
    const std::uint16_t* row = pairs + (k / 2) * kPairColumns + k % 2;
    float* out = args.out + k * kPanelColumns;
    for (int j = 0; j < kPanelColumns; ++j) out[j] = f32_of_bf16(row[2 * j]);
  }
}

void widen_f16(const WidenArgs& args) {
  const auto* in = reinterpret_cast<const std::uint16_t*>(args.panel);
  for (std::int64_t i = 0; i < args.k * kPanelColumns; ++i) args.out[i] = f32_of_f16(in[i]);
}

template <class T, float (*convert)(T)>
void pack_rows(const PackRowsArgs& args) {
  auto* out = static_cast<float*>(args.out);
  for (int i = 0; i < args.rows; ++i) {
    const T* row = static_cast<const T*>(args.x) + i * args.row_stride;
    for (std::int64_t k = 0; k < args.k; ++k) out[k * args.out_rows + i] = convert(row[k]);
  }
}

template <class T, float (*convert)(T)>
void pack_columns(const PackColumnsArgs& args) {
  auto* out = static_cast<float*>(args.out);
  for (std::int64_t k = 0; k < args.k; ++k, out += kPanelColumns) {
    const T* row = static_cast<const T*>(args.y) + k * args.k_stride;
    for (int j = 0; j < kPanelColumns; ++j) out[j] = convert(row[j]);
  }
}

float same(float value) { return value; }

constexpr int kMaxDecodeRows = 16;
// k widened at a time by decode; 16-bit panels are converted once per block for all rows.
constexpr std::int64_t kDecodeBlock = 64;

// Adds x times a block of a panel as f32 [k][32] to acc [rows][acc_stride].
void add_block(const float* x, int rows, const float* y, std::int64_t k, float* acc,
               std::int64_t acc_stride) {
  for (int i = 0; i < rows; ++i) {
    float sum[kPanelColumns];
    std::memcpy(sum, acc + i * acc_stride, sizeof sum);
    for (std::int64_t step = 0; step < k; ++step) {
      const float xi = x[step * rows + i];
      for (int j = 0; j < kPanelColumns; ++j) {
        sum[j] = __builtin_fmaf(xi, y[step * kPanelColumns + j], sum[j]);
      }
    }
    std::memcpy(acc + i * acc_stride, sum, sizeof sum);
  }
}

void set_zero(float* acc, int rows, std::int64_t acc_stride) {
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < kPanelColumns; ++j) acc[i * acc_stride + j] = 0.0f;
  }
}

// The tile loop over widened blocks, panel by panel; `widen` nullptr: panels are f32.
template <WidenFunction widen, int k_per_128_bytes>
void decode(const DecodeArgs& args) {
  const auto* x = static_cast<const float*>(args.x);
  const std::int64_t acc_stride = std::int64_t{kPanelColumns} * args.num_panels;
  for (int p = 0; p < args.num_panels; ++p) {
    const std::byte* panel = args.panels + p * args.panel_bytes;
    float* acc = args.acc + p * kPanelColumns;
    set_zero(acc, args.rows, acc_stride);
    for (std::int64_t k0 = 0; k0 < args.k; k0 += kDecodeBlock) {
      const std::int64_t k = args.k - k0 < kDecodeBlock ? args.k - k0 : kDecodeBlock;
      const std::byte* block = panel + k0 / k_per_128_bytes * 128;
      alignas(64) float widened[kDecodeBlock * kPanelColumns];
      if constexpr (widen != nullptr) widen({block, k, widened});
      const float* y = widen != nullptr ? widened : reinterpret_cast<const float*>(block);
      add_block(x + k0 * args.rows, args.rows, y, k, acc, acc_stride);
    }
  }
}

// Panel by panel, in blocks that `pack` makes f32 [k][32] of.
template <class T, void (*pack)(const T* y, std::int64_t stride, std::int64_t k, float* out)>
void decode_view(const DecodeViewArgs& args, std::int64_t k_stride, std::int64_t column_stride) {
  const auto* x = static_cast<const float*>(args.x);
  for (int p = 0; p < args.num_panels; ++p) {
    const T* y = static_cast<const T*>(args.y) + p * kPanelColumns * column_stride;
    float* acc = args.acc + p * kPanelColumns;
    if (args.first) set_zero(acc, args.rows, args.acc_stride);
    for (std::int64_t k0 = 0; k0 < args.k; k0 += kDecodeBlock) {
      const std::int64_t k = args.k - k0 < kDecodeBlock ? args.k - k0 : kDecodeBlock;
      alignas(64) float block[kDecodeBlock * kPanelColumns];
      pack(y + k0 * k_stride, args.stride, k, block);
      add_block(x + k0 * args.rows, args.rows, block, k, acc, args.acc_stride);
    }
  }
}

template <class T, float (*convert)(T)>
void pack_view_rows(const T* y, std::int64_t stride, std::int64_t k, float* out) {
  pack_columns<T, convert>({.y = y, .k_stride = stride, .k = k, .out = out});
}

template <class T, float (*convert)(T)>
void pack_view_columns(const T* y, std::int64_t stride, std::int64_t k, float* out) {
  pack_rows<T, convert>({.x = y,
                         .row_stride = stride,
                         .rows = kPanelColumns,
                         .k = k,
                         .out = out,
                         .out_rows = kPanelColumns});
}

template <class T, float (*convert)(T)>
void decode_rows_of_y(const DecodeViewArgs& args) {
  decode_view<T, pack_view_rows<T, convert>>(args, args.stride, 1);
}

template <class T, float (*convert)(T)>
void decode_columns_of_y(const DecodeViewArgs& args) {
  decode_view<T, pack_view_columns<T, convert>>(args, 1, args.stride);
}

constexpr int kLoopSums = 64;

float register_loop(std::int64_t rounds) {
  float sum[kLoopSums] = {};
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kLoopSums; ++i) {
      sum[i] = __builtin_fmaf(0x1p-20f, 0x1p-20f, sum[i]);
    }
  }
  float total = 0.0f;
  for (int i = 0; i < kLoopSums; ++i) total += sum[i];
  return total;
}

template <WidenFunction widen, int k_per_128_bytes, class T, float (*convert)(T)>
constexpr TypeKernels type_kernels() {
  return {.bf16_pairs = false,
          .tile = {nullptr, tile<1>, tile<2>, tile<3>, tile<4>, tile<5>, tile<6>},
          .widen = widen,
          .pack_rows = pack_rows<T, convert>,
          .pack_columns = pack_columns<T, convert>,
          .decode = decode<widen, k_per_128_bytes>,
          .max_decode_rows = kMaxDecodeRows,
          .decode_rows_of_y = decode_rows_of_y<T, convert>,
          .decode_columns_of_y = decode_columns_of_y<T, convert>,
          .register_loop = register_loop,
          .register_loop_flops = 2.0 * kLoopSums};
}

constexpr Kernels kTable = {.isa = Isa::kPortable,
                            .f32 = type_kernels<nullptr, 1, float, same>(),
                            .bf16 = type_kernels<widen_bf16, 2, std::uint16_t, f32_of_bf16>(),
                            .f16 = type_kernels<widen_f16, 2, std::uint16_t, f32_of_f16>(),
                            .store = store};

}  // namespace

const Kernels& portable_kernels() { return kTable; }

}  // namespace cmm::gemm
