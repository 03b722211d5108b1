// Rows of x into the two layouts the kernels read.
#include <algorithm>

#include "base/check.hpp"
#include "gemm/product.hpp"

namespace cmm::gemm {
namespace {

std::int64_t k_per_step(const Kernels& kernels, DType dtype) {
  return kernels.type(dtype).bf16_pairs ? 2 : 1;
}

const std::byte* element(const ConstMatrixRef& x, std::int64_t row, std::int64_t col) {
  return static_cast<const std::byte*>(x.data) +
         (row * x.row_stride + col) * static_cast<std::int64_t>(dtype_bytes(x.dtype));
}

// The rows' share of each tile, block by block.
void pack_into_tiles(const DecodePackArgs& args) {
  const std::int64_t per_step = k_per_step(*args.kernels, args.x.dtype);
  const std::int64_t all_steps = num_steps(*args.kernels, args.x.dtype, args.x.cols);
  const Range rows = {args.first_row, args.first_row + args.x.rows};
  for (std::int64_t step = args.steps.begin; step < args.steps.end;) {
    const std::int64_t block = step / kBlockSteps * kBlockSteps;
    const std::int64_t block_steps = std::min<std::int64_t>(kBlockSteps, all_steps - block);
    const std::int64_t end = std::min(args.steps.end, block + block_steps);
    for (std::int64_t t = 0; t < num_tiles(args.m); ++t) {
      const Range tile = tile_rows(args.m, t);
      const Range share = {std::max(rows.begin, tile.begin), std::min(rows.end, tile.end)};
      if (share.size() <= 0) continue;
      const std::int64_t before =  // of the packed chunk, in steps of one row
          block * args.m + tile.begin * block_steps + (step - block) * tile.size();
      args.kernels->type(args.x.dtype)
          .pack_rows({.x = element(args.x, share.begin - rows.begin, step * per_step),
                      .row_stride = args.x.row_stride,
                      .rows = static_cast<int>(share.size()),
                      .k = std::min((end - step) * per_step, args.x.cols - step * per_step),
                      .out = args.packed + (before + share.begin - tile.begin) * kStepBytes,
                      .out_rows = static_cast<int>(tile.size())});
    }
    step = end;
  }
}

}  // namespace

std::int64_t num_tiles(std::int64_t rows) { return ceil_div(rows, kTileRows); }

Range tile_rows(std::int64_t rows, std::int64_t tile) {
  return even_part(rows, num_tiles(rows), tile);
}

std::int64_t num_steps(const Kernels& kernels, DType dtype, std::int64_t k) {
  const std::int64_t per_step = k_per_step(kernels, dtype);
  return k / per_step + (k % per_step != 0);
}

std::int64_t packed_bytes(const Kernels& kernels, DType dtype, std::int64_t rows, std::int64_t k) {
  const std::int64_t steps = checked_product(rows, num_steps(kernels, dtype, k));
  return steps < 0 ? -1 : checked_product(steps, kStepBytes);
}

void pack_tiles(const Kernels& kernels, const ConstMatrixRef& x, Range tiles, std::byte* packed) {
  CMM_DCHECK(0 <= tiles.begin && tiles.end <= num_tiles(x.rows));
  const std::int64_t per_step = k_per_step(kernels, x.dtype);
  const std::int64_t steps = num_steps(kernels, x.dtype, x.cols);
  for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
    const Range rows = tile_rows(x.rows, tile);
    for (std::int64_t step = 0; step < steps; step += kBlockSteps) {
      const std::int64_t block_steps = std::min<std::int64_t>(kBlockSteps, steps - step);
      const std::int64_t k0 = step * per_step;
      kernels.type(x.dtype).pack_rows(
          {.x = element(x, rows.begin, k0),
           .row_stride = x.row_stride,
           .rows = static_cast<int>(rows.size()),
           .k = std::min(block_steps * per_step, x.cols - k0),
           .out = packed + (step * x.rows + rows.begin * block_steps) * kStepBytes,
           .out_rows = static_cast<int>(rows.size())});
    }
  }
}

void pack_decode(const DecodePackArgs& args) {
  const Range steps = args.steps;
  CMM_DCHECK(args.first_row >= 0 && args.first_row + args.x.rows <= args.m);
  CMM_DCHECK(steps.end <= num_steps(*args.kernels, args.x.dtype, args.x.cols));
  if (args.x.rows == 0 || steps.size() <= 0) return;
  if (args.in_tiles) return pack_into_tiles(args);
  const std::int64_t per_step = k_per_step(*args.kernels, args.x.dtype);
  const std::int64_t k0 = steps.begin * per_step;
  args.kernels->type(args.x.dtype)
      .pack_rows({.x = element(args.x, 0, k0),
                  .row_stride = args.x.row_stride,
                  .rows = static_cast<int>(args.x.rows),
                  .k = std::min(steps.size() * per_step, args.x.cols - k0),
                  .out = args.packed + (steps.begin * args.m + args.first_row) * kStepBytes,
                  .out_rows = static_cast<int>(args.m)});
}

}  // namespace cmm::gemm
