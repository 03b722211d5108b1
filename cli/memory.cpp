#include "memory.hpp"

#include <algorithm>
#include <fstream>
#include <string>

#include "cmm/error.hpp"
#include "table.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

std::int64_t mem_available() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::int64_t kilobytes = 0;
  std::string rest;
  while (file >> key >> kilobytes && std::getline(file, rest)) {
    if (key == "MemAvailable:") return kilobytes * 1024;
  }
  return -1;
}

// "max", the word for no limit, fails to read as a number.
std::int64_t number_in(const char* path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? value : -1;
}

}  // namespace

std::int64_t available_memory_bytes() {
  const std::int64_t machine = mem_available();
  const std::int64_t group = number_in("/sys/fs/cgroup/memory.max");
  if (machine < 0 || group < 0) return std::max(machine, group);
  return std::min(machine, group);
}

void check_memory(std::int64_t needed_bytes, std::string_view what) {
  const std::int64_t available = available_memory_bytes();
  if (available < 0 || needed_bytes <= available) return;
  throw Error(ErrorCode::kInvalidArgument,
              text(what, " needs ", bytes_text(needed_bytes), " of memory and ",
                   bytes_text(available), " are available; give smaller sizes"));
}

}  // namespace cmm::cli
