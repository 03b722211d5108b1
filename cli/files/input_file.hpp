// A regular file, read with pread.
//
// Not mapped, for two reasons. A file that another process cuts short under a mapping ends this
// process with SIGBUS, where pread reports it. And .safetensors data may begin at any byte, so
// that its elements are in general not aligned; a buffer of our own is. The price is one copy in
// memory until the matrix is packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "files/unique_fd.hpp"

namespace cmm::files {

class InputFile {
 public:
  // Throws Error(kIo) where the file cannot be opened or is not a regular file; never waits (a
  // FIFO without a writer is refused like any other).
  explicit InputFile(std::string path);

  const std::string& path() const { return path_; }
  std::int64_t bytes() const { return bytes_; }  // when it was opened

  // Fills `into` from the given offset. Throws Error(kBadFile) where the file ends before (its
  // text says what the bytes are for: "the header"), Error(kIo) where the read fails.
  void read(std::int64_t offset_bytes, std::span<std::byte> into, const char* purpose) const;

 private:
  std::string path_;
  UniqueFd fd_;
  std::int64_t bytes_ = 0;
};

}  // namespace cmm::files
