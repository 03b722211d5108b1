// One number for a whole output, whoever holds which columns of it.
#pragma once

#include <cstdint>

#include "cmm/matrix.hpp"

namespace cmm::cli {

// Columns [first_col, first_col + out.cols) of an output [m, n], as one rank holds them.
struct OutputSlice {
  std::int64_t first_col = 0;
  ConstMatrixRef out;
};

// Each element's bits, hashed with its right side, row and column, added up modulo 2^64: the parts
// of slices that together are an output add up to the same number however the output is cut and
// in whatever order they are added.
std::uint64_t hash_part(int side, const OutputSlice& slice);

struct OutputExtents {
  std::int64_t m = 0;
  std::int64_t n = 0;
  DType dtype = DType::kF32;
  int num_sides = 1;
};
// 64 bits of all elements' bits and places, and of the extents. `sum_of_parts`: of slices that
// cover every side. No defence against somebody who wants equal hashes.
std::uint64_t output_hash(const OutputExtents& extents, std::uint64_t sum_of_parts);

}  // namespace cmm::cli
