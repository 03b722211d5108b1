// A team runs a task on every thread, again and again, and a barrier keeps them together.
#include "exec/team.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/clock.hpp"

namespace cmm::exec {
namespace {

struct Count {
  std::vector<std::atomic<int>> by_thread = std::vector<std::atomic<int>>(8);
};

TEST(Team, RunsEveryThreadOncePerRun) {
  for (const int num_threads : {1, 2, 8}) {
    Team team(num_threads);
    ASSERT_EQ(team.num_threads(), num_threads);
    Count count;
    for (int run = 1; run <= 500; ++run) {
      team.run(
          [](void* context, int thread) {
            ++static_cast<Count*>(context)->by_thread[static_cast<std::size_t>(thread)];
          },
          &count);
      for (int t = 0; t < num_threads; ++t) {
        ASSERT_EQ(count.by_thread[static_cast<std::size_t>(t)].load(), run);
      }
    }
  }
}

TEST(Team, HelpersThatFellAsleepWakeUp) {
  Team team(3);
  Count count;
  for (int run = 0; run < 3; ++run) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    team.run(
        [](void* context, int thread) {
          ++static_cast<Count*>(context)->by_thread[static_cast<std::size_t>(thread)];
        },
        &count);
  }
  for (std::size_t t = 0; t < 3; ++t) EXPECT_EQ(count.by_thread[t].load(), 3);
}

struct Phases {
  explicit Phases(int threads) : barrier(threads) {}
  Barrier barrier;
  std::atomic<bool> failed{false};
  std::atomic<int> arrived{0};
  std::atomic<bool> early{false};
};

// As the helpers of a rank do whose first thread waits for a peer.
TEST(Barrier, ThreadsThatWaitLongSleep) {
  constexpr int kThreads = 4;
  Team team(kThreads);
  Phases phases(kThreads);
  const double begin = wall_seconds();
  const double begin_used = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
  team.run(
      [](void* context, int thread) {
        auto& p = *static_cast<Phases*>(context);
        if (thread == 0) std::this_thread::sleep_for(std::chrono::milliseconds(800));
        std::uint64_t round = 0;
        p.barrier.meet(round, p.failed);
      },
      &phases);
  // Measured: 1 %. Looking every 50 us would cost the three some 15 %.
  EXPECT_LT(clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - begin_used, 0.05 * (wall_seconds() - begin));
}

TEST(Barrier, NobodyPassesBeforeAllHaveCome) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 400;
  Team team(kThreads);
  Phases phases(kThreads);
  team.run(
      [](void* context, int) {
        auto& p = *static_cast<Phases*>(context);
        std::uint64_t round = 0;
        for (int i = 1; i <= kRounds; ++i) {
          p.arrived.fetch_add(1);
          if (!p.barrier.meet(round, p.failed)) p.early = true;
          if (p.arrived.load() < i * kThreads) p.early = true;
          if (!p.barrier.meet(round, p.failed)) p.early = true;
        }
      },
      &phases);
  EXPECT_FALSE(phases.early.load());
  EXPECT_EQ(phases.arrived.load(), kRounds * kThreads);
}

TEST(Barrier, AFailureReleasesThoseWhoWait) {
  Team team(3);
  Phases phases(3);
  team.run(
      [](void* context, int thread) {
        auto& p = *static_cast<Phases*>(context);
        if (thread == 2) {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          p.failed.store(true);
          return;
        }
        std::uint64_t round = 0;
        if (!p.barrier.meet(round, p.failed)) p.arrived.fetch_add(1);
      },
      &phases);
  EXPECT_EQ(phases.arrived.load(), 2);
}

}  // namespace
}  // namespace cmm::exec
