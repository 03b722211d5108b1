#include "system_calls.hpp"

#include <dlfcn.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <ctime>

namespace cmm::contract {
namespace {

std::atomic<bool> armed{false};
std::atomic<int> num_calls{0};
std::atomic<const char*> met{""};
MishapAt plan;

// True where the call is to fail with errno set to `error`.
bool reach(const char* name, int error) {
  if (!armed.load()) return false;
  if (++num_calls != plan.number) return false;
  met.store(name);
  switch (plan.mishap) {
    case Mishap::kNone:
      break;
    case Mishap::kKill:
      ::kill(::getpid(), SIGKILL);
      break;
    case Mishap::kExit:
      ::_exit(0);
    case Mishap::kStop:
      ::raise(SIGSTOP);
      break;
    case Mishap::kSlow: {
      const timespec pause = {0, 50'000'000};
      ::nanosleep(&pause, nullptr);
      break;
    }
    case Mishap::kError:
      errno = error;
      return error != 0;
  }
  return false;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void arm(const MishapAt& at) {
  plan = at;
  num_calls.store(0);
  met.store("");
  armed.store(true);
}
int disarm() {
  armed.store(false);
  return num_calls.load();
}
std::string mishap_name() { return met.load(); }

}  // namespace cmm::contract

// ERROR 0: the library does not look at the result, or cannot do without.
#define CMM_CALL(RESULT, NAME, ERROR, PARAMETERS, ARGUMENTS)                 \
  extern "C" RESULT NAME PARAMETERS {                                        \
    static auto* const real = cmm::contract::next<RESULT PARAMETERS>(#NAME); \
    if (cmm::contract::reach(#NAME, ERROR)) return static_cast<RESULT>(-1);  \
    return real ARGUMENTS;                                                   \
  }

#ifndef CMM_SANITIZED  // a sanitizer has functions of its own for these
CMM_CALL(int, socket, EMFILE, (int a, int b, int c) noexcept, (a, b, c))
CMM_CALL(int, socketpair, EMFILE, (int a, int b, int c, int* d) noexcept, (a, b, c, d))
CMM_CALL(int, bind, EACCES, (int a, const sockaddr* b, socklen_t c) noexcept, (a, b, c))
CMM_CALL(int, listen, EADDRINUSE, (int a, int b) noexcept, (a, b))
CMM_CALL(int, connect, EINTR, (int a, const sockaddr* b, socklen_t c), (a, b, c))
CMM_CALL(int, accept4, EMFILE, (int a, sockaddr* b, socklen_t* c, int d), (a, b, c, d))
CMM_CALL(ssize_t, sendmsg, ECONNRESET, (int a, const msghdr* b, int c), (a, b, c))
CMM_CALL(ssize_t, recvmsg, ECONNRESET, (int a, msghdr* b, int c), (a, b, c))
CMM_CALL(int, poll, EINTR, (pollfd * a, nfds_t b, int c), (a, b, c))
CMM_CALL(int, epoll_create1, EMFILE, (int a) noexcept, (a))
CMM_CALL(int, epoll_ctl, ENOMEM, (int a, int b, int c, epoll_event* d) noexcept, (a, b, c, d))
CMM_CALL(int, epoll_wait, EINTR, (int a, epoll_event* b, int c, int d), (a, b, c, d))
CMM_CALL(int, timerfd_create, EMFILE, (clockid_t a, int b) noexcept, (a, b))
CMM_CALL(int, timerfd_settime, 0, (int a, int b, const itimerspec* c, itimerspec* d) noexcept,
         (a, b, c, d))
CMM_CALL(int, memfd_create, EMFILE, (const char* a, unsigned b) noexcept, (a, b))
CMM_CALL(int, ftruncate, ENOSPC, (int a, off_t b) noexcept, (a, b))
CMM_CALL(int, fallocate, ENOSPC, (int a, int b, off_t c, off_t d), (a, b, c, d))
CMM_CALL(int, mprotect, ENOMEM, (void* a, size_t b, int c) noexcept, (a, b, c))
CMM_CALL(int, madvise, EINVAL, (void* a, size_t b, int c) noexcept, (a, b, c))
CMM_CALL(int, munmap, 0, (void* a, size_t b) noexcept, (a, b))
CMM_CALL(int, unlink, 0, (const char* a) noexcept, (a))
CMM_CALL(int, close, 0, (int a), (a))

extern "C" void* mmap(void* a, size_t b, int c, int d, int e, off_t f) noexcept {
  static auto* const real = cmm::contract::next<void*(void*, size_t, int, int, int, off_t)>("mmap");
  if (cmm::contract::reach("mmap", ENOMEM)) return MAP_FAILED;
  return real(a, b, c, d, e, f);
}

// Futexes and pidfds.
extern "C" long syscall(long number, ...) noexcept {
  static auto* const real = cmm::contract::next<long(long, ...)>("syscall");
  va_list arguments;
  va_start(arguments, number);
  long a[6];
  for (long& argument : a) argument = va_arg(arguments, long);
  va_end(arguments);
  if (number == SYS_pidfd_open && cmm::contract::reach("pidfd_open", EMFILE)) return -1;
  if (number == SYS_futex && cmm::contract::reach("futex", EINTR)) return -1;
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
#endif
