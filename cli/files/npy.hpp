// Reads .npy files: numpy's format for one array, versions 1 to 3.
#pragma once

#include <string>

#include "files/matrix_file.hpp"

namespace cmm::files {

// Errors as read_matrix.
MatrixFile open_npy(const std::string& path);

}  // namespace cmm::files
