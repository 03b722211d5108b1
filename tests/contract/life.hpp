// Meshes and plans that come and go, many ranks on few cores, several meshes at once, idle ranks,
// forks: what a long-lived program does.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <thread>

#include "base/clock.hpp"
#include "faults.hpp"
#include "held.hpp"
#include "world.hpp"

namespace cmm::contract {

inline void expect_all_returned(World& world, int num_ranks) {
  for (int rank = 0; rank < num_ranks; ++rank) {
    const Outcome& outcome = world.board().outcomes[rank];
    EXPECT_EQ(outcome.ended.load(), 1) << "rank " << rank;
    EXPECT_EQ(outcome.code, Outcome::kReturned) << "rank " << rank << ": " << outcome.words();
  }
}
// Each rank's body, with what it throws kept in its outcome.
inline void run_all(World& world, int num_ranks, const World::Body& body) {
  world.run(num_ranks, [&](int rank) { world.board().outcomes[rank].of([&] { body(rank); }); });
  expect_all_returned(world, num_ranks);
}
inline void expect_right(const std::string& difference) {
  if (!difference.empty()) throw std::runtime_error(difference);
}

// A mesh, a plan and a product a round; what the process holds is the same after half of them and
// after all.
inline void meshes_come_and_go(World& world, int num_rounds) {
  constexpr int kRanks = 2;
  const Held before = held_now();
  run_all(world, kRanks, [&](int rank) {
    Held half;
    for (int round = 0; round < num_rounds; ++round) {
      if (round == num_rounds / 2) half = held_now();
      const Mesh mesh = world.mesh(round, rank, kRanks);
      expect_right(product(mesh));
    }
    // Threads share a process: the peers are anywhere in a round.
    if (world.processes()) expect_nothing_more(half, held_now());
  });
  expect_nothing_more(before, held_now());
}

inline void plans_come_and_go(World& world, int num_rounds) {
  constexpr int kRanks = 2;
  run_all(world, kRanks, [&](int rank) {
    const Mesh mesh = world.mesh(0, rank, kRanks);
    Held half;
    for (int round = 0; round < num_rounds; ++round) {
      if (round == num_rounds / 2) half = held_now();
      expect_right(
          product(mesh, {.algorithm = round % 2 == 0 ? Algorithm::kDirect : Algorithm::kRing,
                         .threads = 1 + round % 3 / 2}));
    }
    if (world.processes()) expect_nothing_more(half, held_now());
  });
}

// One plan serves calls of changing m, back to back.
inline void calls_of_changing_sizes(World& world, int num_calls) {
  static const test::Reference smaller({.m = 7, .k = 24, .n = {70}}, test::SumRule::kChain);
  constexpr int kRanks = 3;
  run_all(world, kRanks, [&](int rank) {
    const Mesh mesh = world.mesh(0, rank, kRanks);
    const Axis axis = mesh.axis("tp");
    test::RankData large(small_problem(), axis);
    test::RankData small(smaller, axis);
    const Plan plan = Plan::make(axis, large.shape(), {.algorithm = Algorithm::kRing});
    for (int call = 0; call < num_calls; ++call) {
      test::RankData& data = call % 3 == 1 ? small : large;
      data.call(plan);
      expect_right(data.difference());
    }
  });
}

// Many times more ranks than cores.
inline void sixteen_ranks(World& world) {
  run_all(world, kMaxRanks, [&](int rank) {
    const Mesh mesh = world.mesh(0, rank, kMaxRanks);
    const Axis axis = mesh.axis("tp");
    for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kRing,
                                      Algorithm::kBidirectional, Algorithm::kRecursiveDoubling}) {
      test::RankData data(small_problem(), axis);
      const Plan plan = Plan::make(axis, data.shape(), {.algorithm = algorithm, .threads = 2});
      for (int call = 0; call < 5; ++call) {
        data.call(plan);
        expect_right(data.difference());
      }
    }
  });
}

// Two meshes of the same ranks, one after the other made, used in turns.
inline void two_meshes_at_once(World& world) {
  constexpr int kRanks = 3;
  run_all(world, kRanks, [&](int rank) {
    const Mesh first = world.mesh(0, rank, kRanks);
    const Mesh second = world.mesh(1, rank, kRanks);
    for (int round = 0; round < 20; ++round) {
      expect_right(product(round % 2 == 0 ? first : second));
    }
  });
}

// Ranks 0..5 are rows of three: the rows work at the same time and do not meet, the columns do.
inline void sub_meshes_in_parallel(World& world) {
  constexpr int kRanks = 6;
  run_all(world, kRanks, [&](int rank) {
    const Mesh mesh = world.mesh(0, rank, {{"dp", 2}, {"tp", 3}});
    const Axis rows = mesh.axis("tp");
    const Axis columns = mesh.axis("dp");
    test::RankData in_row(small_problem(), rows);
    test::RankData in_column(small_problem(), columns);
    const Plan row_plan = Plan::make(rows, in_row.shape());
    const Plan column_plan = Plan::make(columns, in_column.shape());
    for (int round = 0; round < 30; ++round) {
      in_row.call(row_plan);
      expect_right(in_row.difference());
      // The rows make different numbers of calls: nothing is counted over the whole mesh.
      if (rank >= 3) in_row.call(row_plan);
      in_column.call(column_plan);
      expect_right(in_column.difference());
    }
  });
}

// A row fails; the other goes on.
inline void a_failure_stays_in_its_sub_mesh(World& world) {
  constexpr int kRanks = 4;
  Board& board = world.board();
  world.run(kRanks, [&](int rank) {
    const Mesh mesh = world.mesh(0, rank, {{"dp", 2}, {"tp", 2}});
    const Axis row = mesh.axis("tp");
    test::RankData data(small_problem(), row);
    const Plan plan = Plan::make(row, data.shape());
    board.outcomes[rank].of([&] {
      for (int call = 0; call < 50; ++call) {
        if (rank == 1 && call == 3) row.endpoint().fail(Error(ErrorCode::kPeerFailed, "row 0", 1));
        data.call(plan);
        expect_right(data.difference());
      }
    });
    // Nobody's mesh goes while another still calls.
    board.counts[0].fetch_add(1);
    wait_until([&] { return board.counts[0].load() == kRanks; });
  });
  for (const int rank : {0, 1}) EXPECT_NE(board.outcomes[rank].code, Outcome::kReturned);
  for (const int rank : {2, 3}) {
    EXPECT_EQ(board.outcomes[rank].code, Outcome::kReturned) << board.outcomes[rank].words();
  }
}

// Rank 1 waits a second for rank 0, in a call and in the making of a plan; that costs next to no
// processor time, and neither does a mesh with helper threads that nobody calls. Measured: 1 % and
// 0.1 % of the time that passes, which on a busy machine is more than was asked for.
inline void idle_ranks_use_no_processor(World& world) {
  run_all(world, 2, [&](int rank) {
    const Mesh mesh = world.mesh(0, rank, 2);
    const Axis axis = mesh.axis("tp");
    test::RankData data(small_problem(), axis);
    for (int round = 0; round < 2; ++round) {
      const Plan plan = Plan::make(axis, data.shape(), {.threads = 2});
      data.call(plan);
      if (rank == 0) std::this_thread::sleep_for(1s);  // no condition: time itself is measured
      const double begin_wall = wall_seconds(), begin_seconds = thread_cpu_seconds();
      if (round == 0) data.call(plan);
      if (round == 1) Plan::make(axis, data.shape());
      const double used_seconds = thread_cpu_seconds() - begin_seconds;
      if (rank == 1) {
        const double waited = wall_seconds() - begin_wall;
        EXPECT_LT(used_seconds, 0.08 * waited) << (round == 0 ? "call" : "plan") << ", " << waited;
      }
    }
    if (!world.processes()) return;
    const Plan plan = Plan::make(axis, data.shape(), {.threads = 2});
    data.call(plan);
    std::this_thread::sleep_for(50ms);  // the helper falls asleep
    const double begin_seconds = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    std::this_thread::sleep_for(500ms);
    EXPECT_LT(clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - begin_seconds, 0.01) << "an idle mesh";
  });
}

// A child of a rank is none: it is told so, may end in any way, and the mesh goes on without it.
inline void a_forked_child_is_no_rank(World& world) {
  constexpr int kRanks = 2;
  run_all(world, kRanks, [&](int rank) {
    auto mesh = std::make_unique<Mesh>(world.mesh(0, rank, kRanks));
    const Axis axis = mesh->axis("tp");
    test::RankData data(small_problem(), axis);
    auto plan = std::make_unique<Plan>(Plan::make(axis, data.shape(), {.threads = 2}));
    data.call(*plan);
    if (rank == 1) {
      for (const bool destroys : {false, true}) {
        const pid_t child = fork();
        if (child == 0) {
          alarm(20);
          int code = 1;
          try {
            data.call(*plan);
          } catch (const Error& error) {
            code = error.code() == ErrorCode::kInvalidArgument ? 0 : 2;
          }
          mesh->abort("a child is none of the ranks");
          if (destroys) {
            plan.reset();
            mesh.reset();
          }
          _exit(code);
        }
        int status = 0;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
            << "destroys=" << destroys << " status " << status;
      }
    }
    data.call(*plan);
    expect_right(data.difference());
  });
}

}  // namespace cmm::contract
