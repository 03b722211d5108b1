// One process fails, in each way, at each system call on its way into a mesh, through the making of
// a plan and a barrier: the others return in time with one cause, nothing is left, and the next
// mesh works.
#pragma once

#include <algorithm>
#include <set>

#include "bodies.hpp"
#include "process_world.hpp"
#include "system_calls.hpp"

namespace cmm::contract {

inline constexpr int kMeetingRanks = 3;
// Of a meeting to which a rank may not come; in others nobody need miss one.
inline constexpr std::chrono::milliseconds kMeetingDeadline{500};
inline constexpr std::chrono::milliseconds kAmple{20'000};

// From nothing to a plan on which all have agreed.
inline void meet(ProcessWorld& world, int number, int rank, int num_ranks,
                 std::chrono::milliseconds deadline) {
  ProcessOptions options = world.options(number, rank, num_ranks);
  options.deadline = deadline;
  const Mesh mesh = Mesh::processes(options, {{"tp", num_ranks}});
  const Axis axis = mesh.axis("tp");
  Plan::make(axis, {.m = 12, .k = 8, .n_local = {4}},
             {.algorithm = Algorithm::kRing, .deadline = deadline});
  axis.barrier(deadline);
}

// How many system calls that takes, on this machine today.
inline int calls_of(int victim) {
  ProcessWorld world;
  world.run(kMeetingRanks, [&](int rank) {
    arm({});
    meet(world, 0, rank, kMeetingRanks, kAmple);
    world.board().counts[rank].store(disarm());
  });
  return world.board().counts[victim].load();
}

// What met the mishap, for messages; "" where the victim made fewer calls.
inline std::string run_mishap(const MishapAt& at, int victim) {
  SCOPED_TRACE(cat("call ", at.number, " of rank ", victim));
  ProcessWorld world;
  Board& board = world.board();
  const auto deadline = at.mishap == Mishap::kSlow ? kAmple : kMeetingDeadline;
  const bool ends = at.mishap == Mishap::kKill || at.mishap == Mishap::kExit;
  if (victim == 0 && ends) world.socket_may_stay();
  std::vector<const Outcome*> survivors;
  for (int rank = 0; rank < kMeetingRanks; ++rank) {
    if (rank != victim) survivors.push_back(&board.outcomes[rank]);
  }
  const Held before = held_now();
  world.run(kMeetingRanks,
            [&](int rank) {
              const Held rank_before = held_now();
              if (rank == victim) arm(at);
              board.outcomes[rank].of([&] { meet(world, 0, rank, kMeetingRanks, deadline); });
              disarm();
              if (rank == victim) std::strncpy(board.later[rank].text, mishap_name().c_str(), 100);
              expect_nothing_more(rank_before, held_now());
              if (rank == victim && ends) return;
              const int number = rank - (ends && rank > victim ? 1 : 0);
              // Rank 0 of the first mesh may have to finish with it before it serves the second.
              board.counts[0].fetch_add(1);
              wait_until([&] { return board.counts[0].load() == kMeetingRanks - (ends ? 1 : 0); });
              board.later[rank].of([&] {
                meet(world, 1, number, ends ? kMeetingRanks - 1 : kMeetingRanks, kAmple);
              });
            },
            {.meanwhile =
                 [&] {
                   if (at.mishap != Mishap::kStop) return;
                   EXPECT_TRUE(wait_until([&] {
                     return std::all_of(survivors.begin(), survivors.end(),
                                        [](const Outcome* o) { return o->ended.load() == 1; });
                   }));
                   // Again and again: it may come to its stop only after the others are done.
                   wait_until([&] {
                     world.signal(victim, SIGCONT);
                     return board.outcomes[victim].ended.load() == 1;
                   });
                 },
             .victims = ends ? std::vector<int>{victim} : std::vector<int>{}});
  expect_nothing_more(before, held_now());
  for (int rank = 0; rank < kMeetingRanks; ++rank) {
    if (rank == victim && ends) continue;
    EXPECT_EQ(board.later[rank].ended.load(), 1) << "rank " << rank;
    EXPECT_EQ(board.later[rank].code, Outcome::kReturned)
        << "rank " << rank << " in the next mesh: " << board.later[rank].words();
  }
  for (const Outcome* outcome : survivors) {
    EXPECT_EQ(outcome->ended.load(), 1);
    if (at.mishap == Mishap::kSlow) continue;  // has all the time of kLimit
    EXPECT_LT(outcome->seconds, 1e-3 * static_cast<double>((3 * deadline + kGrace).count()));
  }
  if (at.mishap == Mishap::kError || at.mishap == Mishap::kSlow) {
    survivors.push_back(&board.outcomes[victim]);
  }
  // All of them go through or all fail, for one reason.
  for (const Outcome* outcome : survivors) {
    EXPECT_EQ(outcome->code == Outcome::kReturned, survivors[0]->code == Outcome::kReturned)
        << outcome->words() << "\n"
        << survivors[0]->words();
    EXPECT_NE(outcome->code, Outcome::kMaxCode) << outcome->words();
  }
  if (at.mishap == Mishap::kSlow) {
    EXPECT_EQ(survivors[0]->code, Outcome::kReturned) << survivors[0]->words();
  }
  return board.later[victim].text;
}

inline void at_each_call(Mishap mishap, int stride = 1) {
#ifdef CMM_SANITIZED
  GTEST_SKIP() << "a sanitizer has functions of its own where this test puts its own";
#endif
  std::set<std::string> met;
  const auto sweep = [&] {
    for (const int victim : {0, 1}) {
      const int num_calls = calls_of(victim);
      ASSERT_GT(num_calls, 10) << "the calls of rank " << victim << " are not counted";
      // Naps differ from run to run, so the last calls may not come.
      for (int number = 1; number <= num_calls; number += stride) {
        met.insert(run_mishap({mishap, number}, victim));
        if (testing::Test::HasFailure()) return;
      }
    }
  };
  sweep();
  if (mishap != Mishap::kError) return;
  const std::set<std::string> all = {"socket",  "bind",         "accept4",   "sendmsg",
                                     "recvmsg", "memfd_create", "ftruncate", "fallocate",
                                     "mmap",    "mprotect",     "pidfd_open"};
  // So a call may be passed over where the numbers shift under it on a busy machine.
  for (int more = 0; more < 3 && !std::includes(met.begin(), met.end(), all.begin(), all.end());
       ++more) {
    sweep();
  }
  for (const std::string& name : all) {
    EXPECT_EQ(met.count(name), 1u) << name << " was never made to fail";
  }
}

}  // namespace cmm::contract
