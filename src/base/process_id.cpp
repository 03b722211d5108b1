#include "base/process_id.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <new>

namespace cmm {
namespace {

using Pid = std::atomic<pid_t>;

// A page that the kernel clears in a forked child, however it was forked; nullptr where it cannot.
Pid* make_page() noexcept {
  const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, bytes, MADV_WIPEONFORK) == 0) return new (page) Pid(0);
  munmap(page, bytes);
  return nullptr;
}

}  // namespace

pid_t process_id() noexcept {
  static Pid* const known = make_page();
  if (known == nullptr) return getpid();
  pid_t pid = known->load(std::memory_order_relaxed);
  if (pid == 0) {
    pid = getpid();
    known->store(pid, std::memory_order_relaxed);
  }
  return pid;
}

}  // namespace cmm
