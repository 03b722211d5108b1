#include "child_processes.hpp"

#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace cmm::cli {
namespace {

// 0 where the process is gone. Its line is "PID (NAME) STATE PARENT ...", and NAME may hold
// anything, parentheses too.
pid_t parent_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line, '\0');
  const std::size_t end_of_name = line.rfind(')');
  if (end_of_name == std::string::npos || line.size() < end_of_name + 5) return 0;
  pid_t parent = 0;
  std::from_chars(line.data() + end_of_name + 4, line.data() + line.size(), parent);
  return parent;
}

}  // namespace

std::vector<pid_t> children_of_this_process() {
  std::vector<pid_t> children;
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    pid_t pid = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc() || end != name.data() + name.size()) continue;
    if (parent_of(pid) == getpid()) children.push_back(pid);
  }
  return children;
}

}  // namespace cmm::cli
