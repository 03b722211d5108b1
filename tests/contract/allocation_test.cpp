// One rank finds no memory, at each allocation of the making of a plan: either all ranks get it or
// all get an error, at once. A call allocates nothing.
#include <cstdlib>
#include <memory>
#include <new>

#include "bodies.hpp"
#include "thread_world.hpp"

namespace {
// Of this thread: allocations until one fails; 0: none does.
thread_local int fails_in = 0;

// Likewise, of the library's buffers alone.
thread_local int buffer_fails_in = 0;

bool buffer_fails_now() { return buffer_fails_in > 0 && --buffer_fails_in == 0; }
bool fails_now() { return fails_in > 0 && --fails_in == 0; }
}  // namespace

// Not inlined: g++ would see a malloc freed by delete, or the reverse, and warn.
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* p = fails_now() ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return fails_now() ? nullptr : std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
// Where the library's buffers get their memory.
extern "C" [[gnu::noinline]] void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  void* p = nullptr;
  return !fails_now() && !buffer_fails_now() && posix_memalign(&p, alignment, size) == 0 ? p
                                                                                         : nullptr;
}

namespace cmm::contract {
namespace {

constexpr int kRanks = 3;

// False once the victim makes fewer allocations than `number`.
bool run_without_memory(int number, int victim, Algorithm algorithm) {
  SCOPED_TRACE(cat("allocation ", number, " of rank ", victim, ", ", algorithm_name(algorithm)));
  ThreadWorld world;
  Board& board = world.board();
  bool failed = false;
  world.run(kRanks, [&](int rank) {
    const Mesh mesh = world.mesh(0, rank, kRanks);
    const Axis axis = mesh.axis("tp");
    test::RankData data(small_problem(), axis);
    const ProblemShape shape = data.shape();
    const Options options = {.algorithm = algorithm};
    board.outcomes[rank].of([&] {
      if (rank == victim) fails_in = number;
      const Plan plan = Plan::make(axis, shape, options);
      if (rank == victim) {
        failed = fails_in == 0;
        fails_in = 0;
      }
      data.call(plan);
      expect_right(data.difference());
    });
    if (rank == victim && board.outcomes[rank].code != Outcome::kReturned) {
      failed = true;
      fails_in = 0;
    }
    // Nobody leaves before all have been told.
    board.counts[0].fetch_add(1);
    wait_until([&] { return board.counts[0].load() == kRanks; });
  });
  for (int rank = 0; rank < kRanks; ++rank) {
    const Outcome& outcome = board.outcomes[rank];
    EXPECT_EQ(outcome.code == Outcome::kReturned, board.outcomes[victim].code == Outcome::kReturned)
        << "rank " << rank << ": " << outcome.words() << "\nrank " << victim << ": "
        << board.outcomes[victim].words();
    EXPECT_LT(outcome.seconds, 1e-3 * static_cast<double>(kGrace.count())) << outcome.words();
  }
  return failed;
}

TEST(Allocations, EachFailsOnAllRanksOrNone) {
#ifdef CMM_SANITIZED
  GTEST_SKIP() << "a sanitizer has functions of its own where this test puts its own";
#endif
  small_problem();
  for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kRing}) {
    for (const int victim : {0, 1}) {
      int number = 1;
      while (run_without_memory(number, victim, algorithm) && !HasFailure()) ++number;
      EXPECT_GT(number, 50) << "allocations are not counted";
      if (HasFailure()) return;
    }
  }
}

// A buffer that does not fit is no mishap but an answer: all ranks are told whose it is, and the
// mesh is as good as before.
TEST(Allocations, APlanWhoseBuffersDoNotFitIsRefusedOnAll) {
#ifdef CMM_SANITIZED
  GTEST_SKIP() << "a sanitizer has functions of its own where this test puts its own";
#endif
  ThreadWorld world;
  std::atomic<int> num_refused{0};
  run_all(world, kRanks, [&](int rank) {
    const Mesh mesh = world.mesh(0, rank, kRanks);
    const Axis axis = mesh.axis("tp");
    test::RankData data(small_problem(), axis);
    const ProblemShape shape = data.shape();
    for (int number = 1;; ++number) {
      try {
        if (rank == 1) buffer_fails_in = number;
        Plan::make(axis, shape, {.algorithm = Algorithm::kRing});
        buffer_fails_in = 0;
        break;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory) << error.what();
        EXPECT_EQ(error.rank(), 1) << error.what();
        num_refused.fetch_add(1);
      }
    }
    expect_right(product(mesh));
  });
  // At least: packed x, slots, and what the channel needs.
  EXPECT_GE(num_refused.load(), 3 * kRanks);
}

}  // namespace
}  // namespace cmm::contract
