#include "tpu/builder.hpp"

namespace cmm::tpu {

int Builder::buffer(Buffer buffer) {
  program_.buffers.push_back(std::move(buffer));
  return static_cast<int>(program_.buffers.size()) - 1;
}

}  // namespace cmm::tpu
