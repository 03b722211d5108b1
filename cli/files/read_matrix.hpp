// Reads a matrix from a file named on the command line.
#pragma once

#include <string>

#include "files/tensor.hpp"

namespace cmm::files {

// Reads the whole matrix that `spec` names (spec.hpp) into memory. Errors, each with the path and
// where in the file: kInvalidArgument (spec; no such tensor, or which of several), kIo, kBadFile
// (not what the format demands, an element type other than f32, f16, bf16, or not
// two-dimensional), kOutOfMemory. Never allocates more than a small multiple of the file's size.
Tensor read_matrix(const std::string& spec);

}  // namespace cmm::files
