// How a matrix in a file is named on the command line: "w.npy", "model.safetensors:tensor", or
// "model.safetensors" where the file holds one tensor.
#pragma once

#include <optional>
#include <string>

namespace cmm::files {

enum class Format { kNpy, kSafetensors };

struct FileSpec {
  std::string path;
  Format format = Format::kNpy;
  std::optional<std::string> tensor;  // .safetensors only
};

// Throws Error(kInvalidArgument) for another extension, an empty tensor name, or a tensor name
// after .npy. Touches no file.
FileSpec parse_file_spec(const std::string& spec);

// Whether two specs name one existing file (also through links). False where either does not
// exist. Writing over an input is the caller's to refuse. Throws as parse_file_spec.
bool same_file(const std::string& spec_a, const std::string& spec_b);

}  // namespace cmm::files
