// What a process holds of the system, to be compared before and after.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace cmm::test {

struct Resources {
  long descriptors = 0;
  long mappings = 0;
  long threads = 0;
};

inline Resources count_resources() {
  namespace fs = std::filesystem;
  Resources held;
  held.descriptors = std::distance(fs::directory_iterator("/proc/self/fd"), {});
  held.threads = std::distance(fs::directory_iterator("/proc/self/task"), {});
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    // The heap grows and shrinks as it likes, in one mapping or in two; a sanitizer's is
    // everywhere.
#ifdef CMM_SANITIZED
    held.mappings += line.find("memfd:") != std::string::npos;
#else
    held.mappings += line.find("[heap]") == std::string::npos;
#endif
  }
  return held;
}

}  // namespace cmm::test
