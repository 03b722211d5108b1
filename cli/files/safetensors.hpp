// Reads .safetensors files.
#pragma once

#include <optional>
#include <string>

#include "files/tensor.hpp"

namespace cmm::files {

// Without a name the file must hold one tensor only. Errors as read_matrix.
Tensor read_safetensors(const std::string& path, const std::optional<std::string>& name);

}  // namespace cmm::files
