#include "files/read_matrix.hpp"

#include "files/npy.hpp"
#include "files/safetensors.hpp"
#include "files/spec.hpp"

namespace cmm::files {

MatrixFile open_matrix(const std::string& spec) {
  const FileSpec file = parse_file_spec(spec);
  return file.format == Format::kNpy ? open_npy(file.path)
                                     : open_safetensors(file.path, file.tensor);
}

Tensor read_matrix(const std::string& spec) { return open_matrix(spec).read(); }

}  // namespace cmm::files
