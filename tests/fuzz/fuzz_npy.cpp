#include <cstddef>
#include <cstdint>

#include "files/npy.hpp"
#include "memory_file.hpp"
#include "read_or_refuse.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const cmm::fuzz::MemoryFile file(data, size);
  cmm::fuzz::read_or_refuse(file.path(), [&] { return cmm::files::open_npy(file.path()).read(); });
  return 0;
}
