#include "child_processes.hpp"

#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace cmm::cli {
namespace {

struct Entry {
  pid_t parent = 0;  // 0 where the process is gone
  std::uint64_t start_ticks = 0;
};

// The line of a process is "PID (NAME) STATE PARENT ...", and NAME may hold anything, parentheses
// too. The start is the 22nd field.
Entry entry_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line, '\0');
  const std::size_t end_of_name = line.rfind(')');
  if (end_of_name == std::string::npos) return {};
  std::istringstream fields(line.substr(end_of_name + 1));
  Entry entry;
  std::string field;
  fields >> field >> entry.parent;
  for (int number = 5; number < 22; ++number) fields >> field;
  return fields >> entry.start_ticks ? entry : Entry{};
}

}  // namespace

std::vector<ChildProcess> children_of_this_process() {
  std::vector<ChildProcess> children;
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    pid_t pid = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc() || end != name.data() + name.size()) continue;
    const Entry process = entry_of(pid);
    if (process.parent == getpid()) children.push_back({pid, process.start_ticks});
  }
  return children;
}

}  // namespace cmm::cli
