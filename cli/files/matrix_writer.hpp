// Writes a matrix to a .npy or .safetensors file, row block by row block.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cmm/matrix.hpp"
#include "files/output_file.hpp"

namespace cmm::files {

class MatrixWriter {
 public:
  // `spec` as for reading (spec.hpp); a .safetensors file gets one tensor, "out" unless named.
  // bf16 goes to .npy as ml_dtypes stores it. Throws Error(kInvalidArgument) for a bad spec or
  // size, Error(kIo) as OutputFile: also for lack of space, before anything is computed.
  MatrixWriter(const std::string& spec, DType dtype, std::int64_t rows, std::int64_t cols);

  // The next rows, in ascending order: [any, cols] of the dtype. Throws Error(kInvalidArgument)
  // where they do not fit what was announced, Error(kIo) where the write fails.
  void write_rows(const ConstMatrixRef& block);

  // To be called once, after all rows. The file has its name only from here on; without it, or
  // where it throws, nothing is left behind. Throws Error(kInvalidArgument) where rows are
  // missing, Error(kIo).
  void commit();

 private:
  std::string path_;
  DType dtype_;
  std::int64_t rows_;
  std::int64_t cols_;
  std::int64_t rows_written_ = 0;
  std::optional<OutputFile> file_;  // made when the arguments have been checked
};

}  // namespace cmm::files
