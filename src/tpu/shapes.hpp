// Shapes of buffers, slices and vectors, and how they lie in the tiles of a chip.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tpu/program.hpp"

namespace cmm::tpu {

std::int64_t num_elements(std::span<const std::int64_t> shape);  // 1 of {}
std::vector<std::int64_t> squeezed_shape(const Slice& slice);
std::int64_t slice_bytes(const Program& program, const Slice& slice);

// What products of `operand` are summed in.
constexpr Element sum_element(Element operand) {
  return operand == Element::kS8 || operand == Element::kS32 ? Element::kS32 : Element::kF32;
}

// What offsets along `dimension` of a buffer must be multiples of, and sizes, unless they are the
// whole dimension: the last two dimensions of HBM and VMEM buffers lie in tiles. 1: anything goes.
int tile_along(const Buffer& buffer, int dimension, const Chip& chip);

// Bytes of a buffer with its last two dimensions padded to whole tiles.
std::int64_t padded_bytes(const Buffer& buffer, const Chip& chip);

}  // namespace cmm::tpu
