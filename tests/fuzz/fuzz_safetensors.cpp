#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "files/safetensors.hpp"
#include "files/safetensors_header.hpp"
#include "memory_file.hpp"
#include "read_or_refuse.hpp"

namespace {

// Names of the file's first tensors; none where its header is refused.
std::vector<std::string> some_names(const std::string& path) {
  constexpr std::size_t kMaxNames = 8;
  std::vector<std::string> names;
  try {
    const cmm::files::InputFile file(path);
    for (const auto& [name, entry] : cmm::files::read_safetensors_header(file).tensors) {
      if (names.size() == kMaxNames) break;
      names.push_back(name);
    }
  } catch (const cmm::Error&) {  // read_or_refuse judges the error
  }
  return names;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const cmm::fuzz::MemoryFile file(data, size);
  const std::string path = file.path();
  const auto read = [&](const std::optional<std::string>& name) {
    cmm::fuzz::read_or_refuse(path,
                              [&] { return cmm::files::open_safetensors(path, name).read(); });
  };
  read(std::nullopt);
  read("no such tensor");
  for (const std::string& name : some_names(path)) read(name);
  return 0;
}
