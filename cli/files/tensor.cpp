#include "files/tensor.hpp"

#include <new>

#include "cmm/error.hpp"
#include "files/messages.hpp"

namespace cmm::files {

std::unique_ptr<std::byte[]> allocate_for(const std::string& path, std::int64_t bytes) {
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[bytes]);
  if (memory == nullptr) {
    throw Error(ErrorCode::kOutOfMemory, cli::text(path, ": no memory for its ", bytes, " bytes"));
  }
  return memory;
}

std::int64_t matrix_bytes(DType dtype, std::int64_t rows, std::int64_t cols) {
  std::int64_t bytes = 0;
  const bool overflows = __builtin_mul_overflow(rows, cols, &bytes) ||
                         __builtin_mul_overflow(bytes, dtype_bytes(dtype), &bytes);
  return overflows ? -1 : bytes;
}

std::string matrix_text(DType dtype, std::int64_t rows, std::int64_t cols) {
  return cli::text(dtype_name(dtype), " [", rows, ", ", cols, "]");
}

}  // namespace cmm::files
