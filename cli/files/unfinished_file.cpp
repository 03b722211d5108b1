#include "files/unfinished_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <random>

#include "cmm/error.hpp"
#include "files/messages.hpp"

namespace cmm::files {
namespace {

// In static storage, never freed: a handler that runs on another thread while an owner lets its
// name go still reads valid memory.
enum class State : int { kFree, kClaimed, kArmed };
struct Slot {
  std::atomic<State> state{State::kFree};
  std::array<char, PATH_MAX> path{};
};
static_assert(std::atomic<State>::is_always_lock_free, "or a signal handler could not read it");

constexpr int kNumSlots = 8;  // the tool writes one file at a time
std::array<Slot, kNumSlots> slots;

int claim_slot(const std::string& path) {
  for (int i = 0; i < kNumSlots; ++i) {
    State expected = State::kFree;
    if (slots[i].state.compare_exchange_strong(expected, State::kClaimed)) return i;
  }
  throw Error(ErrorCode::kIo, cli::text(path, ": more than ", kNumSlots, " files written at once"));
}

std::string temporary_name(const std::string& path) {
  std::random_device random;
  const std::uint64_t number = std::uint64_t{random()} << 32 | random();
  return cli::text(path, ".part-", std::hex, number);
}

extern "C" void remove_files_and_end(int signal) {
  remove_unfinished_files();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

UnfinishedFile::UnfinishedFile(const std::string& path) : slot_(-1) {
  const std::string name = temporary_name(path);
  if (name.size() >= PATH_MAX) throw_io(path, "cannot write", ENAMETOOLONG);
  slot_ = claim_slot(path);
  std::copy_n(name.c_str(), name.size() + 1, slots[slot_].path.data());
  slots[slot_].state = State::kArmed;
}

UnfinishedFile::~UnfinishedFile() {
  ::unlink(temporary_path());
  slots[slot_].state = State::kFree;
}

const char* UnfinishedFile::temporary_path() const { return slots[slot_].path.data(); }

void remove_unfinished_files() noexcept {
  const int saved_errno = errno;
  for (const Slot& slot : slots) {
    if (slot.state == State::kArmed) ::unlink(slot.path.data());
  }
  errno = saved_errno;
}

void remove_unfinished_files_on_signals() {
  std::at_quick_exit([] { remove_unfinished_files(); });
  for (const int signal : {SIGHUP, SIGINT, SIGPIPE, SIGTERM}) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = remove_files_and_end;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace cmm::files
