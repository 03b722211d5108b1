// Runs the built tool as a user does.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/scratch.hpp"

namespace cmm::cli {

using test::Scratch;

inline std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A file under /proc/PID. A process that ends while it is read has none: where a stream would
// throw, this is as empty as where there is no such process.
inline std::string content_of_process(pid_t pid, const std::string& name) {
  std::string content;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(("/proc/" + std::to_string(pid) + "/" + name).c_str(), "rb"), std::fclose);
  if (!file) return content;
  char part[4096];
  while (const std::size_t size = std::fread(part, 1, sizeof part, file.get()))
    content.append(part, size);
  return content;
}

// The entries of a folder of /proc/PID: those read so far where the process ends in the middle.
inline std::vector<std::filesystem::path> entries_of_process(pid_t pid, const std::string& folder) {
  std::vector<std::filesystem::path> entries;
  std::error_code error;
  std::filesystem::directory_iterator at("/proc/" + std::to_string(pid) + "/" + folder, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    entries.push_back(at->path());
  }
  return entries;
}

struct ToolResult {
  int exit_code = -1;  // -1: ended by a signal
  std::string out;
  std::string err;
};

// The words of a command line or the NAME=VALUEs of an environment, as the system takes them.
inline std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// `command`: the program's path and its arguments. `variables`: NAME=VALUE, besides this process's
// environment.
inline pid_t start_program(std::vector<std::string> command, const std::string& out_path,
                           const std::string& err_path, std::vector<std::string> variables = {}) {
  for (char** at = environ; *at != nullptr; ++at) variables.emplace_back(*at);
  std::vector<char*> words = pointers_to(command);
  std::vector<char*> environment = pointers_to(variables);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out_path.c_str(), kFlags, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err_path.c_str(), kFlags, 0600);
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, words[0], &actions, nullptr, words.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " + command[0]);
  return pid;
}

inline pid_t start_tool(std::vector<std::string> arguments, const std::string& out_path,
                        const std::string& err_path, std::vector<std::string> variables = {}) {
  arguments.insert(arguments.begin(), CMM_TOOL_PATH);
  return start_program(std::move(arguments), out_path, err_path, std::move(variables));
}

// Waits for a process that was started so.
inline ToolResult result_of(pid_t pid, const std::string& out_path, const std::string& err_path) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(out_path), content_of(err_path)};
}

inline ToolResult run_tool(const std::vector<std::string>& arguments) {
  const Scratch scratch;
  const std::string out_path = scratch.file("out"), err_path = scratch.file("err");
  return result_of(start_tool(arguments, out_path, err_path), out_path, err_path);
}

// Whether a process has an unfinished output in the folder: without a name, "/FOLDER/#123
// (deleted)" to the kernel, or with a temporary one.
inline bool has_unfinished_output(pid_t pid, const Scratch& folder) {
  std::error_code ignored;  // the process may have ended
  for (const std::filesystem::path& entry : entries_of_process(pid, "fd")) {
    const std::string target = std::filesystem::read_symlink(entry, ignored).string();
    if (target.rfind(folder.file("#"), 0) == 0) return true;
    if (target.rfind(folder.file(""), 0) == 0 && target.find(".part-") != std::string::npos) {
      return true;
    }
  }
  return false;
}

// `line` cut at spaces.
inline std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    if (end > at) words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// The rule for every refusal: nothing on stdout, one line on stderr.
inline void expect_refused(const ToolResult& result, int exit_code, const std::string& part) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err.substr(0, 5), "cmm: ");
  EXPECT_EQ(result.err.find('\n') + 1, result.err.size()) << result.err;
  EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
}

}  // namespace cmm::cli
