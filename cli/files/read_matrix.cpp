#include "files/read_matrix.hpp"

#include "files/npy.hpp"
#include "files/safetensors.hpp"
#include "files/spec.hpp"

namespace cmm::files {

Tensor read_matrix(const std::string& spec) {
  const FileSpec file = parse_file_spec(spec);
  return file.format == Format::kNpy ? read_npy(file.path)
                                     : read_safetensors(file.path, file.tensor);
}

}  // namespace cmm::files
