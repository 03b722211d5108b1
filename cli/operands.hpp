// The operands of `cmm multiply`: what the ranks of this process need of two matrices in files.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "buffer.hpp"
#include "files/matrix_file.hpp"
#include "problem.hpp"

namespace cmm::cli {

// A product of many rows is made by several calls, so that it can report how far it is. Each
// multiplies the next rows of x, split over the ranks like any product.
struct CallRows {
  std::int64_t first_row = 0;  // of x and out
  Problem problem;             // of these rows
};
std::vector<CallRows> calls_of(const Problem& problem);

class Operands {
 public:
  // Reads the rows and columns of this process's ranks. Throws as MatrixFile::read_block.
  Operands(World& world, const Problem& problem, const files::MatrixFile& x_file,
           const files::MatrixFile& y_file);

  // This rank's rows in the call: [rows, k].
  ConstMatrixRef x_local(std::size_t call, int rank) const;
  StridedMatrixRef y_local(int rank) const;  // [k, cols], whatever way it is stored

  // Columns of y that these ranks hold, from first_col on.
  std::int64_t first_col() const { return first_col_; }
  std::int64_t cols() const { return y_.cols; }
  const StridedMatrixRef& y() const { return y_; }

 private:
  Problem problem_;
  RankRange ranks_;
  std::vector<CallRows> calls_;
  std::vector<std::int64_t> first_rows_;  // of each call, in x_
  Matrix x_;                              // [rows of ranks_ in all calls, k]
  files::Tensor y_file_;
  StridedMatrixRef y_;  // [k, columns of ranks_]
  std::int64_t first_col_ = 0;
};

// The whole x [m, k] as f32, read again from its file: a check needs the rows of all ranks.
std::vector<float> widened_file(const files::MatrixFile& file);

}  // namespace cmm::cli
