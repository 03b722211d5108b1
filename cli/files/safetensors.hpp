// Reads .safetensors files.
#pragma once

#include <optional>
#include <string>

#include "files/matrix_file.hpp"

namespace cmm::files {

// Without a name the file must hold one tensor only. Errors as read_matrix.
MatrixFile open_safetensors(const std::string& path, const std::optional<std::string>& name);

}  // namespace cmm::files
