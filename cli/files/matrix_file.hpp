// A matrix in a file, before its elements are read: memory can be weighed first.
#pragma once

#include <cstdint>
#include <string>

#include "files/input_file.hpp"
#include "files/tensor.hpp"

namespace cmm::files {

// Rows and columns of a matrix.
struct Block {
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t first_col = 0;
  std::int64_t cols = 0;
};

struct MatrixFile {
  InputFile file;
  std::int64_t data_offset = 0;  // from the start of the file, which has all data_bytes there
  std::int64_t data_bytes = 0;
  StridedMatrixRef view;    // of no data yet
  std::string description;  // for people: "bf16 [30522, 384] of w.npy"

  // The whole matrix in memory. Throws Error(kOutOfMemory), Error(kIo), or Error(kBadFile) where
  // the file has been cut short since.
  Tensor read() const;
  // The block alone, stored as the file stores the matrix; same errors.
  Tensor read_block(const Block& block) const;
};

}  // namespace cmm::files
