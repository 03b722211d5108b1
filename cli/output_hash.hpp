// One number for a whole output, whoever holds which columns of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cmm/matrix.hpp"

namespace cmm::cli {

// Columns [first_col, first_col + out.cols) of an output [m, n], as one rank holds them.
struct OutputSlice {
  std::int64_t first_col = 0;
  ConstMatrixRef out;
};

// 64 bits of the element bits in row order of the global columns, and of m, n and the dtype.
// `sides`: one list of slices per right side, each in column order and covering all n columns.
// Equal for every way to cut the columns; no defence against somebody who wants equal hashes.
std::uint64_t output_hash(std::span<const std::vector<OutputSlice>> sides);

}  // namespace cmm::cli
