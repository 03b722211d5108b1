// The header of a .npy file: a Python dict literal such as
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cmm/dtype.hpp"

namespace cmm::files {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

struct NpyHeader {
  DType dtype = DType::kF32;
  bool fortran_order = false;       // the first index runs fastest
  std::vector<std::int64_t> shape;  // each >= 0
};

// Reads the dict, which begins at `offset_bytes` of the file `path` (both for messages only).
// Exactly the three keys in any order, either kind of quotes, white space between tokens, and a
// trailing comma are accepted; it is parsed, never evaluated. Throws Error(kBadFile).
NpyHeader parse_npy_header(const std::string& path, std::int64_t offset_bytes,
                           std::string_view text);

// All that stands before the data of a C-ordered [rows, cols] matrix, version 1, as numpy writes
// it: the data begins at a multiple of 64 bytes.
std::string make_npy_header(DType dtype, std::int64_t rows, std::int64_t cols);

}  // namespace cmm::files
