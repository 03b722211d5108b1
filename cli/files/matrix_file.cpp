#include "files/matrix_file.hpp"

namespace cmm::files {

Tensor MatrixFile::read() const {
  Tensor tensor;
  tensor.storage = allocate_for(file.path(), data_bytes);
  file.read(data_offset, {tensor.storage.get(), static_cast<std::size_t>(data_bytes)},
            "the matrix");
  tensor.view = view;
  tensor.view.data = tensor.storage.get();
  tensor.description = description;
  return tensor;
}

}  // namespace cmm::files
