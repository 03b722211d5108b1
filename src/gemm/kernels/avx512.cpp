// AVX-512 (F, BW, VL, DQ) with f32 multiply-adds for every type: the bits of the fmaf chain.
#include "gemm/kernels/avx512_decode.hpp"
#include "gemm/kernels/avx512_formats.hpp"
#include "gemm/kernels/avx512_pack.hpp"
#include "gemm/kernels/avx512_tile.hpp"
#include "gemm/kernels/avx512_view.hpp"
#include "gemm/kernels/store.hpp"
#include "gemm/kernels/tables.hpp"

namespace cmm::gemm {
namespace {

CMM_TILE_FUNCTIONS(fma_tile, "vfmadd231ps")

constexpr Kernels kTable = {
    .isa = Isa::kAvx512,
    .f32 = {.tile = CMM_TILE_TABLE(fma_tile),
            .pack_rows = pack_rows<F32Source>,
            .pack_columns = pack_columns<F32Source>,
            .decode = decode<F32Row>,
            .max_decode_rows = kMaxDecodeRows,
            .decode_rows_of_y = decode_rows_of_y<ViewRow<F32Source>>,
            .decode_columns_of_y = decode_columns_of_y<F32Source, F32Row>,
            .register_loop = register_loop<F32Row>,
            .register_loop_flops = 2.0 * 16 * kLoopSums},
    .bf16 = {.tile = CMM_TILE_TABLE(fma_tile),
             .widen = widen<BF16Row>,
             .pack_rows = pack_rows<BF16Source>,
             .pack_columns = pack_columns<BF16Source>,
             .decode = decode<BF16Row>,
             .max_decode_rows = kMaxDecodeRows,
             .decode_rows_of_y = decode_rows_of_y<ViewRow<BF16Source>>,
             .decode_columns_of_y = decode_columns_of_y<BF16Source, F32Row>,
             .register_loop = register_loop<F32Row>,
             .register_loop_flops = 2.0 * 16 * kLoopSums},
    .f16 = {.tile = CMM_TILE_TABLE(fma_tile),
            .widen = widen<F16Row>,
            .pack_rows = pack_rows<F16Source>,
            .pack_columns = pack_columns<F16Source>,
            .decode = decode<F16Row>,
            .max_decode_rows = kMaxDecodeRows,
            .decode_rows_of_y = decode_rows_of_y<ViewRow<F16Source>>,
            .decode_columns_of_y = decode_columns_of_y<F16Source, F32Row>,
            .register_loop = register_loop<F32Row>,
            .register_loop_flops = 2.0 * 16 * kLoopSums},
    .store = store,
};

}  // namespace

const Kernels& avx512_kernels() { return kTable; }

}  // namespace cmm::gemm
