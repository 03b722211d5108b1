// A matrix in a file, before its elements are read: memory can be weighed first.
#pragma once

#include <cstdint>
#include <string>

#include "files/input_file.hpp"
#include "files/tensor.hpp"

namespace cmm::files {

struct MatrixFile {
  InputFile file;
  std::int64_t data_offset = 0;  // from the start of the file, which has all data_bytes there
  std::int64_t data_bytes = 0;
  StridedMatrixRef view;    // of no data yet
  std::string description;  // for people: "bf16 [30522, 384] of w.npy"

  // The whole matrix in memory. Throws Error(kOutOfMemory), Error(kIo), or Error(kBadFile) where
  // the file has been cut short since.
  Tensor read() const;
};

}  // namespace cmm::files
