// The elements of made-up problems. Each is a function of seed, matrix and global position alone,
// so that every way to cut a problem over ranks and chunks starts from the same x and y.
#pragma once

#include <cstdint>

#include "cmm/matrix.hpp"

namespace cmm::cli {

struct GeneratedMatrix {
  std::uint64_t seed = 0;
  std::int64_t id = 0;  // 0: x; 1 + s: y of right side s
};

// A block whose element (0, 0) is element (first_row, first_col) of the whole matrix.
struct BlockOrigin {
  std::int64_t first_row = 0;
  std::int64_t first_col = 0;
};

// Fills `block` with values uniform in [-1, 1), multiples of 2^-23, rounded to the block's dtype.
void generate_block(const GeneratedMatrix& matrix, BlockOrigin origin, const MatrixRef& block);

// The same for a block that is stored transposed: element (i, j) of `stored` is element
// (first_row + j, first_col + i) of the matrix.
void generate_transposed(const GeneratedMatrix& matrix, BlockOrigin origin,
                         const MatrixRef& stored);

// The same values, rounded to `dtype` and widened back to f32: out[i * cols + j].
void generate_widened(const GeneratedMatrix& matrix, BlockOrigin origin, DType dtype,
                      const MatrixView<float>& out);

}  // namespace cmm::cli
