#include "base/present_memory.hpp"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <string>

namespace cmm {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

// The sum of the values of some keys of a file of lines "KEY VALUE ...", in the file's unit; -1
// where the first key is missing.
std::int64_t sum_of(const std::string& path, std::initializer_list<std::string_view> keys) {
  std::ifstream file(path);
  std::string key, rest;
  std::int64_t value = 0;
  std::int64_t sum = 0;
  bool found = false;
  while (file >> key >> value && std::getline(file, rest)) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) continue;
    found = found || key == *keys.begin();
    sum += value;
  }
  return found ? sum : -1;
}

// "max", the word for no limit, fails to read as a number.
std::int64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? value : -1;
}

struct Names {  // of the files of a control group
  const char* limit;
  const char* usage;
  const char* page_cache;     // key of memory.stat: files and shared memory
  const char* shared_memory;  // key of memory.stat
};
constexpr Names kVersion2 = {"/memory.max", "/memory.current", "file", "shmem"};
constexpr Names kVersion1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_cache",
                             "total_shmem"};

// What a control group and those above it leave; cached files count as free, since the kernel drops
// them first.
std::int64_t left_by_group(const std::string& root, std::string group, const Names& names) {
  std::int64_t present = kUnlimited;
  for (;;) {
    const std::string folder = root + (group == "/" ? "" : group);
    const std::int64_t limit = number_in(folder + names.limit);
    const std::int64_t usage = number_in(folder + names.usage);
    if (limit >= 0 && usage >= 0) {
      const std::string stat = folder + "/memory.stat";
      const std::int64_t cached = std::max<std::int64_t>(sum_of(stat, {names.page_cache}), 0) -
                                  std::max<std::int64_t>(sum_of(stat, {names.shared_memory}), 0);
      present = std::min(present, std::max<std::int64_t>(limit - usage, 0) +
                                      std::max<std::int64_t>(std::min(cached, usage), 0));
    }
    const std::size_t slash = group.find_last_of('/');
    if (group.size() <= 1 || slash == std::string::npos) return present;
    group.resize(std::max<std::size_t>(slash, 1));
  }
}

// Lines of /proc/self/cgroup: "ID:CONTROLLERS:GROUP"; no controllers: version 2. In a container
// the group is often "/", or a path that the container does not see, and the limit at the root.
std::int64_t left_by_groups() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  std::int64_t present = kUnlimited;
  while (std::getline(file, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      present = std::min(present, left_by_group("/sys/fs/cgroup", group, kVersion2));
    } else if (controllers == "memory") {
      present = std::min(present, left_by_group("/sys/fs/cgroup/memory", group, kVersion1));
    }
  }
  return present;
}

}  // namespace

std::int64_t present_memory_bytes() {
  const std::int64_t kilobytes = sum_of("/proc/meminfo", {"MemAvailable:", "SwapFree:"});
  const std::int64_t group = left_by_groups();
  if (kilobytes < 0) return group == kUnlimited ? -1 : group;
  return std::min(kilobytes * 1024, group);
}

}  // namespace cmm
