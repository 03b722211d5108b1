// The product every output is compared with: all elements, computed by a plain loop of its own
// (reference_loop.hpp) on f32 copies of x and y. It shares no code with the library's kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cmm/matrix.hpp"
#include "output_hash.hpp"
#include "reference_loop.hpp"

namespace cmm::cli {

// Fills out, rows [first_row, +out.rows) and columns [first_col, +out.cols) of y [k, n], as f32.
// Called by several threads at once.
using WidenY = std::function<void(std::int64_t first_row, std::int64_t first_col,
                                  const MatrixView<float>& out)>;

struct ReferenceProblem {
  MatrixView<const float> x;  // [m, k], widened
  WidenY y;                   // [k, n]
  Chain chain = Chain::kFma;
  // 0: bits must be equal. Else an element may differ from the reference by
  // bound(k) * sum_k |x y| plus a half unit of the output type on either side: the most that two
  // f32 sums of the same k products in any order can differ.
  bool any_order = false;
  int num_threads = 1;
  std::function<void(double share_done)> progress = {};  // called by one thread at a time
};

struct Comparison {
  std::int64_t num_elements = 0;
  std::int64_t mismatches = 0;
  std::string first_mismatch;  // row, column, both values; empty when there is none

  // Of other elements, which come later in the order that first_mismatch follows.
  void add(const Comparison& other);
  std::string verdict() const;  // one line for people
};

// Compares every element of the columns of an output [m, n] that the slices hold: adjacent ones, in
// column order. Uses
// m * 256 * 4 bytes per thread (twice that under any_order).
Comparison compare_with_reference(const ReferenceProblem& problem,
                                  const std::vector<OutputSlice>& slices);

// [m, k] of any strides as f32, row-major.
std::vector<float> widened(const StridedMatrixRef& matrix);
void widen_block(const StridedMatrixRef& matrix, std::int64_t first_row, std::int64_t first_col,
                 const MatrixView<float>& out);

}  // namespace cmm::cli
