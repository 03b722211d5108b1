#include "transport/shm/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm::transport::shm {
namespace {

constexpr std::size_t kStatBytes = 1024;  // the file has some 350

int open_pidfd(std::int64_t pid) {
#ifdef SYS_pidfd_open
  return static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
#else
  (void)pid;
  errno = ENOSYS;
  return -1;
#endif
}

// What /proc says of a process.
struct Entry {
  bool readable = false;  // a process that has gone and one that is hidden from us look alike
  char state = '?';       // 'Z': has ended, and waits for its parent to ask
  std::uint64_t start_ticks = 0;
};

// /proc/PID/stat: "PID (NAME) STATE PPID ...", where NAME may hold anything, blanks and brackets
// included, so the fields are counted from the last bracket on. The start time is field 22.
Entry read_entry(std::int64_t pid) {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/%lld/stat", static_cast<long long>(pid));
  const UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  char text[kStatBytes];
  ssize_t bytes = 0;
  do {
    bytes = read(file.get(), text, sizeof text - 1);
  } while (bytes < 0 && errno == EINTR);
  if (bytes <= 0) return {};
  text[bytes] = '\0';
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] != ' ') return {};
  Entry entry = {.readable = true, .state = at[2], .start_ticks = 0};
  for (int field = 2; field < 22 && at != nullptr; ++field) at = std::strchr(at + 1, ' ');
  if (at == nullptr) return {};
  entry.start_ticks = std::strtoull(at + 1, nullptr, 10);
  return entry;
}

bool other_process(const Entry& entry, const Process& process) {
  return entry.readable && process.start_ticks != 0 && entry.start_ticks != process.start_ticks;
}

}  // namespace

Process process_of(std::int64_t pid) {
  return {.pid = pid, .start_ticks = read_entry(pid).start_ticks};
}
Process this_process() { return process_of(getpid()); }

std::uint64_t pid_namespace() {
  struct stat status;
  return stat("/proc/self/ns/pid", &status) == 0 ? static_cast<std::uint64_t>(status.st_ino) : 0;
}

ProcessWatch::ProcessWatch(std::vector<Process> processes, Watch kind)
    : processes_(std::move(processes)), kind_(kind) {
  if (kind_ == Watch::kStartTime) return;
  pidfds_.reserve(processes_.size());
  for (const Process& process : processes_) {
    UniqueFd pidfd(open_pidfd(process.pid));
    if (!pidfd && (errno == EMFILE || errno == ENFILE)) {
      throw Error(
          ErrorCode::kOutOfMemory,
          cat("no descriptor to watch process ", process.pid, ": ",
              std::generic_category().message(errno), "; a mesh of ", processes_.size(),
              " processes needs ", processes_.size() + 1, " in each of them: raise `ulimit -n`"));
    }
    if (!pidfd && errno != ESRCH) {  // ENOSYS, or EPERM of a filter of system calls
      pidfds_.clear();
      kind_ = Watch::kStartTime;
      return;
    }
    // Looked at once the pidfd is held: from here on it is this process, whoever it is.
    if (pidfd && other_process(read_entry(process.pid), process)) pidfd.reset();
    pidfds_.push_back(std::move(pidfd));
  }
}

bool ProcessWatch::ended(int index) const {
  const Process& process = processes_[static_cast<std::size_t>(index)];
  if (kind_ == Watch::kStartTime) {
    const Entry entry = read_entry(process.pid);
    if (entry.readable)
      return entry.state == 'Z' || entry.state == 'X' || other_process(entry, process);
    return kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH;
  }
  const UniqueFd& pidfd = pidfds_[static_cast<std::size_t>(index)];
  if (!pidfd) return true;
  pollfd polled = {.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return poll(&polled, 1, 0) == 1;
}

std::string ProcessWatch::description(int index) const {
  const Process& process = processes_[static_cast<std::size_t>(index)];
  if (ended(index)) return cat("process ", process.pid, ", which has ended");
  switch (read_entry(process.pid).state) {
    case 'T':
      return cat("process ", process.pid, ", which is stopped");
    case 't':
      return cat("process ", process.pid, ", which a debugger has stopped");
    default:
      return cat("process ", process.pid, ", which has not ended");
  }
}

}  // namespace cmm::transport::shm
