#include "peer_watch.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "text.hpp"

namespace cmm::cli {
namespace {

using std::chrono::milliseconds;

// Often enough for a patience of tenths of a second, too seldom to be seen in a measurement.
constexpr milliseconds kShortestPeriod{20};
constexpr milliseconds kLongestPeriod{250};

struct Entry {
  char state = '?';
  std::uint64_t start_ticks = 0;
};

// /proc/PID/stat: "PID (NAME) STATE PPID ...", where NAME may hold anything, so that the fields are
// counted from the last bracket on. The start time is field 22.
Entry read_entry(std::int64_t pid) {
  std::ifstream file(text("/proc/", pid, "/stat"));
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(line.substr(name_end + 1));
  Entry entry;
  std::string skipped;
  fields >> entry.state;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  fields >> entry.start_ticks;
  return fields ? entry : Entry{};
}

}  // namespace

SeenProcess this_process() {
  struct stat status {};
  const bool known = ::stat("/proc/self/ns/pid", &status) == 0;
  return {.pid_namespace = known ? std::uint64_t{status.st_ino} : 0,
          .pid = ::getpid(),
          .start_ticks = read_entry(::getpid()).start_ticks};
}

bool is_stopped(const SeenProcess& process) {
  const Entry entry = read_entry(process.pid);
  return (entry.state == 'T' || entry.state == 't') && entry.start_ticks == process.start_ticks;
}

PeerWatch::PeerWatch(const SeenProcess& peer, milliseconds patience, std::function<void()> found)
    : peer_(peer), patience_(patience), found_(std::move(found)), thread_([this] { watch(); }) {}

PeerWatch::~PeerWatch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void PeerWatch::watch() {
  const milliseconds period = std::clamp(patience_ / 8, kShortestPeriod, kLongestPeriod);
  milliseconds stopped{0};
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, period, [this] { return ends_; })) {
    stopped = is_stopped(peer_) ? stopped + period : milliseconds{0};
    if (stopped > patience_) return found_();
  }
}

}  // namespace cmm::cli
