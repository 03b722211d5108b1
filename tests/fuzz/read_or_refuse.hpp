// What every file reader must do with any bytes: give a matrix that lies in its own memory, or
// refuse with an Error of a kind that blames the file.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>

#include "cmm/error.hpp"
#include "files/tensor.hpp"

namespace cmm::fuzz {

// Calls `read`, which returns a files::Tensor. Ends the process where the result cannot be right;
// the sanitizers do the rest.
template <class Read>
void read_or_refuse(const std::string& path, const Read& read) {
  try {
    const files::Tensor tensor = read();
    const StridedMatrixRef& m = tensor.view;
    const auto elem_bytes = static_cast<std::int64_t>(dtype_bytes(m.dtype));
    for (std::int64_t i = 0; i < m.rows && m.cols > 0; ++i) {
      for (std::int64_t j = 0; j < m.cols; ++j) {
        const std::int64_t at = (i * m.row_stride + j * m.col_stride) * elem_bytes;
        const unsigned char* byte = static_cast<const unsigned char*>(m.data) + at;
        // Reads each byte, and writes it back to the same place to show that it is ours.
        for (std::int64_t b = 0; b < elem_bytes; ++b) {
          volatile unsigned char* seen = const_cast<unsigned char*>(byte + b);
          *seen = *seen;
        }
      }
    }
  } catch (const Error& error) {
    const bool blames_the_file =
        error.code() == ErrorCode::kBadFile || error.code() == ErrorCode::kInvalidArgument;
    if (!blames_the_file || std::strstr(error.what(), path.c_str()) == nullptr) std::abort();
  }
}

}  // namespace cmm::fuzz
