// The header of a .safetensors file: eight bytes with its length (little endian), then JSON:
//   {"__metadata__": {"format": "pt"},
//    "w": {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}, ...}
// The offsets count from the end of the header.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cmm/dtype.hpp"
#include "files/input_file.hpp"

namespace cmm::files {

struct TensorEntry {
  std::string dtype;                // as written: "F32", "I64", ...
  std::vector<std::int64_t> shape;  // each >= 0
  std::int64_t begin = 0;           // 0 <= begin <= end <= bytes of data
  std::int64_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, TensorEntry> tensors;
  std::int64_t data_offset = 0;  // from the start of the file
};

// Throws Error(kBadFile) unless the header is whole, is JSON of this form without repeated names,
// and every tensor's bytes lie within the file. Sizes are not yet compared with shapes: a file
// may hold types unknown here.
SafetensorsHeader read_safetensors_header(const InputFile& file);

std::string safetensors_dtype_name(DType dtype);  // "F32", "BF16", "F16"

// All that stands before the data of one [rows, cols] tensor; the data begins at a multiple of 8
// bytes. Throws Error(kInvalidArgument) for a name that the format cannot hold. The size of the
// matrix in bytes must fit in int64.
std::string make_safetensors_header(const std::string& name, DType dtype, std::int64_t rows,
                                    std::int64_t cols);

}  // namespace cmm::files
