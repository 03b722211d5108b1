// A call of a plan that is warm neither allocates nor calls the system.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <limits>
#include <new>
#include <thread>

#include "cmm/cmm.hpp"

namespace {
std::atomic<long> num_allocations{0};  // of all threads
}

// Not inlined: g++ would see a malloc freed by delete, or the reverse, and warn.
[[gnu::noinline]] void* operator new(std::size_t size) {
  num_allocations.fetch_add(1, std::memory_order_relaxed);
  void* p = std::malloc(size == 0 ? 1 : size);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
// std::stable_sort takes its memory so. A sanitizer's own would not go with the delete below.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  num_allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

// Where the library's buffers and the operator new of aligned types get their memory.
extern "C" [[gnu::noinline]] void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  num_allocations.fetch_add(1, std::memory_order_relaxed);
  void* p = nullptr;
  return posix_memalign(&p, alignment, size) == 0 ? p : nullptr;
}

namespace cmm {
namespace {

constexpr int kCalls = 200;  // traced

// One rank with everything a call can have: two right sides, packed or made anew as views for each
// call, SwiGLU, the gathered x.
enum class Given { kPacked, kView };

class Rank {
 public:
  Rank(const Axis& axis, std::int64_t m, Options options = {}, Given given = Given::kPacked)
      : m_(m),
        given_(given),
        x_(static_cast<std::size_t>(m * kK), 1.0f),
        out_(static_cast<std::size_t>(m * kN)),
        gathered_(static_cast<std::size_t>(m * kK)),
        y_{pack(), pack()},
        plan_(make_plan(axis, m, options)),
        x_view_(x_.data(), plan_.rows_of(axis.rank(), m), kK),
        out_ref_(MatrixView<float>(out_.data(), m, kN)) {}

  void call() {
    if (given_ == Given::kView) {
      const MatrixView<const float> y(values_.data(), kK, kN);
      for (Weights& weights : y_) weights = Weights::view(y);
    }
    all_gather_matmul(plan_, x_view_, y_, std::span(&out_ref_, 1),
                      {.gathered = MatrixView<float>(gathered_.data(), m_, kK)});
  }

 private:
  static constexpr std::int64_t kK = 24;
  static constexpr std::int64_t kN = 40;

  // Own kernels by name: a library allocates as it likes.
  Weights pack() const {
    return Weights::pack(MatrixView<const float>(values_.data(), kK, kN), {.engine = Engine::kOwn});
  }
  static Plan make_plan(const Axis& axis, std::int64_t m, Options options) {
    options.swiglu = true;
    return Plan::make(axis, {.m = m, .k = kK, .n_local = {kN, kN}}, options);
  }

  std::int64_t m_;
  Given given_;
  std::vector<float> values_ = std::vector<float>(kK * kN, 0.5f);
  std::vector<float> x_, out_, gathered_;
  std::vector<Weights> y_;
  Plan plan_;
  MatrixView<float> x_view_;
  MatrixRef out_ref_;
};

// Four ranks, so that chunks are forwarded. All of them meet before and after the counted calls: a
// rank that is made or leaves allocates.
void expect_no_allocation(std::int64_t m, const Options& options, Given given = Given::kPacked) {
  constexpr int kRanks = 4;
  const int num_counted_calls = m > 100 ? 2 : 10;  // on an emulated processor rows are slow
  std::barrier meeting(kRanks);
  std::atomic<long> counted{0};
  run_ranks({{"tp", kRanks}}, [&](Mesh& mesh) {
    Rank rank(mesh.axis("tp"), m, options, given);
    rank.call();
    meeting.arrive_and_wait();
    const long before = num_allocations.load();
    meeting.arrive_and_wait();
    for (int call = 0; call < num_counted_calls; ++call) rank.call();
    meeting.arrive_and_wait();
    if (mesh.rank() == 0) counted = num_allocations.load() - before;
    meeting.arrive_and_wait();
  });
  EXPECT_EQ(counted.load(), 0) << algorithm_name(options.algorithm) << " m=" << m
                               << " threads=" << options.threads << " pieces=" << options.pieces;
}

TEST(HotPath, DoesNotAllocate) {
  for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kRing, Algorithm::kBidirectional,
                                    Algorithm::kRecursiveDoubling, Algorithm::kHierarchical}) {
    for (const int threads : {1, 2}) {
      for (const std::int64_t m : {4, 100, 1100}) {  // decode, prefill, more rows than a wave has
        const int hosts = algorithm == Algorithm::kHierarchical ? 2 : 0;
        for (const int pieces : {1, 3}) {
          if (m > 100 && (pieces == 1) != (threads == 1)) continue;
          expect_no_allocation(
              m, {.algorithm = algorithm, .pieces = pieces, .hosts = hosts, .threads = threads});
        }
      }
    }
  }
}

TEST(HotPath, ViewsMadeForEachCallDoNotAllocate) {
  for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kRing}) {
    for (const int threads : {1, 2}) {
      for (const std::int64_t m : {4, 100, 1100}) {
        expect_no_allocation(m, {.algorithm = algorithm, .threads = threads}, Given::kView);
      }
    }
  }
}

// In the traced child: rank 0 on the traced thread, a marker before and after each call. Other
// ranks run on threads that are not traced.
[[noreturn]] void traced_child(int num_ranks, std::int64_t m) {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);  // not under qemu-user
  std::vector<Mesh> meshes = Mesh::threads({{"tp", num_ranks}});
  const auto calls = [&](int rank, bool mark) {
    Rank state(meshes[static_cast<std::size_t>(rank)].axis("tp"), m);
    for (int call = 0; call < kCalls; ++call) {
      if (mark) syscall(SYS_getppid);
      state.call();
    }
    if (mark) syscall(SYS_getppid);
  };
  std::vector<std::thread> peers;
  for (int rank = 1; rank < num_ranks; ++rank) {
    peers.emplace_back([&, rank] { calls(rank, false); });
  }
  raise(SIGSTOP);
  calls(0, true);
  for (std::thread& peer : peers) peer.join();
  _exit(0);
}

// How a rank waits for a peer that is not on a core right now.
bool is_wait(std::uint64_t number) {
  return number == SYS_sched_yield || number == SYS_clock_nanosleep;
}

// System calls of rank 0 between neighbouring markers, waits for late peers left out;
// -1: tracing is not permitted here.
int fewest_system_calls(int num_ranks, std::int64_t m) {
  const pid_t child = fork();
  if (child == 0) traced_child(num_ranks, m);
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return -1;
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  int fewest = std::numeric_limits<int>::max();
  int since_marker = -1;  // -1: no marker yet
  bool entering = true;   // stops come in pairs: before and after a system call
  for (;;) {
    if (ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0) return -1;
    if (waitpid(child, &status, __WALL) != child) return -1;
    if (WIFEXITED(status) || WIFSIGNALED(status)) break;
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) continue;
    entering = !entering;
    if (entering) continue;
    __ptrace_syscall_info info = {};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(info), &info) <= 0) return -1;
    if (info.entry.nr == SYS_getppid) {
      if (since_marker >= 0) fewest = std::min(fewest, since_marker);
      since_marker = 0;
    } else if (since_marker >= 0 && !is_wait(info.entry.nr)) {
      ++since_marker;
    }
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? fewest : -1;
}

TEST(HotPath, DoesNotCallTheSystem) {
#ifdef CMM_SANITIZED
  GTEST_SKIP() << "a sanitizer makes system calls of its own";
#endif
  for (const int num_ranks : {1, 2}) {
    for (const std::int64_t m : {4, 100}) {
      const int fewest = fewest_system_calls(num_ranks, m);
      if (fewest < 0) GTEST_SKIP() << "this machine does not let a process trace its child";
      EXPECT_EQ(fewest, 0) << "P=" << num_ranks << " m=" << m;
    }
  }
}

}  // namespace
}  // namespace cmm
