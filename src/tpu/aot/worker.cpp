#include "tpu/aot/worker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/text.hpp"
#include "cmm/error.hpp"

extern char** environ;

namespace cmm::tpu::aot {
namespace {

using Clock = std::chrono::steady_clock;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  int number() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

// Ended and waited for, whatever happens.
class Child {
 public:
  Child(const std::string& program, const std::vector<std::string>& environment, int words,
        int errors) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, words, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, words, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    std::string name = program;
    char* const arguments[] = {name.data(), nullptr};
    std::vector<char*> variables;
    for (const std::string& variable : environment) {
      variables.push_back(const_cast<char*>(variable.c_str()));
    }
    variables.push_back(nullptr);
    const int failed =
        posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, variables.data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) {
      pid_ = -1;
      throw Error(ErrorCode::kUnsupported,
                  cat("cannot start ", program, ": ", std::strerror(failed)));
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    wait();
  }

  // How it ended, in words; "" for exit code 0.
  std::string wait() {
    int status = 0;
    pid_t waited = -1;
    do waited = waitpid(pid_, &status, 0);
    while (waited < 0 && errno == EINTR);
    pid_ = -1;
    if (waited < 0) return "";  // of a process that has its children waited for elsewhere
    if (WIFSIGNALED(status)) return cat("ended by signal ", WTERMSIG(status));
    if (WEXITSTATUS(status) != 0) return cat("ended with exit code ", WEXITSTATUS(status));
    return "";
  }

 private:
  pid_t pid_ = -1;
};

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> all;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    const bool changed = std::any_of(changes.begin(), changes.end(),
                                     [&](const auto& change) { return change.first == name; });
    if (!changed) all.emplace_back(text);
  }
  for (const auto& [name, value] : changes) all.push_back(cat(name, "=", value));
  return all;
}

// What libtpu logged as fatal, else its last lines.
std::string last_words(int errors) {
  constexpr off_t kMost = 4000;
  const off_t size = lseek(errors, 0, SEEK_END);
  const off_t begin = std::max<off_t>(0, size - (off_t{1} << 20));
  std::string text(static_cast<std::size_t>(std::max<off_t>(0, size - begin)), '\0');
  const ssize_t got = pread(errors, text.data(), text.size(), begin);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  for (const char* const mark :
       {"Check failed", "] ABSL", "Unknown command line flag", "\nF1", "\nF0"}) {
    const std::size_t at = text.find(mark);
    if (at == std::string::npos) continue;
    const std::size_t line = text.rfind('\n', at == 0 ? 0 : at - (text[at] == '\n' ? 0 : 1));
    text = text.substr(line == std::string::npos ? 0 : line + 1, 800);
    break;
  }
  if (text.size() > kMost) text = text.substr(text.size() - kMost);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? "(nothing)" : text;
}

// Sends the request and takes the reply, at the same time: either may be larger than what the
// kernel keeps on the way. False: the deadline has come.
bool exchange(int socket, std::string_view request, std::string& reply,
              Clock::time_point deadline) {
  bool open = true;
  while (open) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd ready{socket, static_cast<short>(POLLIN | (request.empty() ? 0 : POLLOUT)), 0};
    const int wait = static_cast<int>(std::min<std::int64_t>(left.count() + 1, 1000));
    if (poll(&ready, 1, wait) < 0 && errno != EINTR) return true;
    if ((ready.revents & POLLOUT) != 0 && !request.empty()) {
      const ssize_t sent =
          send(socket, request.data(), request.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) request.remove_prefix(static_cast<std::size_t>(sent));
      if (sent < 0 && errno != EAGAIN && errno != EINTR) request = {};  // it has ended
      if (request.empty()) shutdown(socket, SHUT_WR);
    }
    if ((ready.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      char buffer[1 << 16];
      const ssize_t got = recv(socket, buffer, sizeof buffer, MSG_DONTWAIT);
      if (got > 0) reply.append(buffer, static_cast<std::size_t>(got));
      open = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
    }
  }
  return true;
}

}  // namespace

Message ask_worker(const Message& request, const WorkerOptions& options) {
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(options.timeout_seconds));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error(ErrorCode::kUnsupported, cat("no sockets: ", std::strerror(errno)));
  }
  Descriptor ours(ends[0]), theirs(ends[1]);
  const Descriptor errors(memfd_create("libtpu", MFD_CLOEXEC));
  if (errors.number() < 0) {
    throw Error(ErrorCode::kUnsupported, cat("no memory file: ", std::strerror(errno)));
  }
  Child child(options.program, environment_with(options.environment), theirs.number(),
              errors.number());
  theirs.close();
  std::string reply;
  if (!exchange(ours.number(), encode(request), reply, deadline)) {
    throw Error(ErrorCode::kDeadline,
                cat("libtpu was not done after ", options.timeout_seconds,
                    " s; allow it more time, or make the tiles smaller: the time grows with the "
                    "rows of y and the columns that one product takes"));
  }
  const std::string end = child.wait();
  if (std::optional<Message> message = decode(reply)) return *std::move(message);
  throw Error(ErrorCode::kUnsupported,
              cat("libtpu ended the process it was compiling in (", end.empty() ? "no reply" : end,
                  "); its last words: ", last_words(errors.number())));
}

}  // namespace cmm::tpu::aot
