// AVX-512 with avx512_bf16: bf16 products by the native pair instruction, whose result is defined
// otherwise than the fmaf chain: per pair of k the odd product is added first, then the even one,
// each rounded to nearest, and subnormals count as zero. The other types are those of avx512.cpp.
#include "gemm/kernels/avx512_decode.hpp"
#include "gemm/kernels/avx512_formats.hpp"
#include "gemm/kernels/avx512_pack.hpp"
#include "gemm/kernels/avx512_tile.hpp"
#include "gemm/kernels/avx512_view.hpp"
#include "gemm/kernels/tables.hpp"

namespace cmm::gemm {
namespace {

CMM_TILE_FUNCTIONS(dot_tile, "vdpbf16ps")

// Pairs as they are: one step of packed x per row of the panel.
struct BF16PairRow : F32Row {
  static constexpr int kElems = 2;

  static __m512 multiply_add(__m512 sum, float x, __m512 y) {
    return _mm512_dpbf16_ps(sum, (__m512bh)_mm512_set1_ps(x), (__m512bh)y);
  }
};

// Two rows of y itself to pairs.
struct BF16PairViewRow : BF16PairRow {
  static constexpr int kElemBytes = 2;

  explicit BF16PairViewRow(std::int64_t row_bytes) : odd(row_bytes) {}
  void load(const std::byte* row, Raw& raw) const {
    join(_mm512_loadu_si512(row), _mm512_loadu_si512(row + odd), raw);
  }
  static void join(__m512i even_row, __m512i odd_row, Raw& raw) {
    CMM_UNROLL
    for (int half = 0; half < 2; ++half) {
      raw[half] = _mm512_castsi512_ps(pairs_of(even_row, odd_row, half));
    }
  }

  // The last of an odd k: nothing lies behind it.
  struct LastRow : BF16PairRow {
    explicit LastRow(std::int64_t /*row_bytes*/) {}
    static void load(const std::byte* row, Raw& raw) {
      join(_mm512_loadu_si512(row), _mm512_setzero_si512(), raw);
    }
  };

  std::int64_t odd;  // bytes from the row of an even k to the next
};

Kernels make_table() {
  Kernels table = avx512_kernels();
  table.isa = Isa::kAvx512Bf16;
  table.bf16 = {.bf16_pairs = true,
                .tile = CMM_TILE_TABLE(dot_tile),
                .pack_rows = pack_rows<BF16PairSource>,
                .pack_columns = pack_column_pairs,
                .decode = decode<BF16PairRow>,
                .max_decode_rows = kMaxDecodeRows,
                .decode_rows_of_y = decode_rows_of_y<BF16PairViewRow>,
                .decode_columns_of_y = decode_columns_of_y<BF16PairSource, BF16PairRow>,
                .register_loop = register_loop<BF16PairRow>,
                .register_loop_flops = 4.0 * 16 * kLoopSums};
  return table;
}

}  // namespace

const Kernels& avx512_bf16_kernels() {
  static const Kernels table = make_table();
  return table;
}

}  // namespace cmm::gemm
