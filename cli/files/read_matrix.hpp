// Reads a matrix from a file named on the command line.
#pragma once

#include <string>

#include "files/matrix_file.hpp"

namespace cmm::files {

// Reads the header of the matrix that `spec` names (spec.hpp). Errors, each with the path and
// where in the file: kInvalidArgument (spec; no such tensor, or which of several), kIo, kBadFile
// (not what the format demands, an element type other than f32, f16, bf16, or not
// two-dimensional). Never allocates more than a small multiple of the file's size.
MatrixFile open_matrix(const std::string& spec);
// open_matrix(spec).read(): the whole matrix in memory; kOutOfMemory besides.
Tensor read_matrix(const std::string& spec);

}  // namespace cmm::files
