// What comes from outside while ranks work: an abort from another thread, signals without end, a
// look at the history.
#pragma once

#include <fcntl.h>
#include <sys/time.h>

#include <csignal>
#include <thread>

#include "life.hpp"

namespace cmm::contract {

// Between the making of a plan and an abort, which would else end the making where a peer is not
// through with it.
inline void all_come(std::atomic<int>& count, int num_ranks) {
  count.fetch_add(1);
  wait_until([&] { return count.load() >= num_ranks; });
}

// When the victim comes to the point, another thread of its process aborts the mesh, and only then
// does the victim go on.
inline void run_abort(World& world, exec::Point point, int victim, Algorithm algorithm) {
  constexpr int kRanks = 3;
  SCOPED_TRACE(cat("abort at point ", static_cast<int>(point), " of rank ", victim, ", ",
                   algorithm_name(algorithm)));
  Board& board = world.board();
  world.run(kRanks, [&](int rank) {
    Mesh mesh = world.mesh(0, rank, kRanks);
    const Axis axis = mesh.axis("tp");
    test::RankData data(small_problem(), axis);
    const Plan plan = Plan::make(axis, data.shape(), {.algorithm = algorithm});
    struct Aborter {
      Mesh& mesh;
      exec::Point point;
      std::atomic<bool> done{false};
    } aborter{mesh, point};
    if (rank == victim) {
      plan.state().set_hook({[](void* context, exec::Point reached, int) {
                               auto& a = *static_cast<Aborter*>(context);
                               if (reached != a.point || a.done.exchange(true)) return;
                               std::thread([&a] { a.mesh.abort("the operator said so"); }).join();
                             },
                             &aborter});
    }
    all_come(board.counts[0], kRanks);
    board.outcomes[rank].of([&] {
      for (int call = 0; call < 3; ++call) data.call(plan);
    });
    EXPECT_TRUE(says_dead([&] { data.call(plan); }));
  });
  std::vector<const Outcome*> all;
  for (int rank = 0; rank < kRanks; ++rank) all.push_back(&board.outcomes[rank]);
  expect_shared_cause(world, all, ErrorCode::kPeerFailed, victim, 0ms);
  EXPECT_NE(std::string(board.outcomes[0].text).find("the operator said so"), std::string::npos);
}

template <class MakeWorld>
void abort_at_each_point(MakeWorld make_world) {
  for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kRing}) {
    for (const exec::Point point : kPoints) {
      const auto world = make_world();
      run_abort(*world, point, static_cast<int>(point) % 3, algorithm);
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Rank 0 waits, in a plan or a call that nobody else makes; another of its threads ends that.
inline void abort_of_a_waiting_rank(World& world) {
  for (const bool in_call : {false, true}) {
    Board& board = world.board();
    const int number = in_call ? 1 : 0;
    world.run(2, [&](int rank) {
      Mesh mesh = world.mesh(number, rank, 2);
      const Axis axis = mesh.axis("tp");
      test::RankData data(small_problem(), axis);
      const Plan plan = Plan::make(axis, data.shape());
      all_come(board.counts[2 + number], 2);
      if (rank == 0) {
        std::thread aborter([&] {
          // It waits once its history says so.
          wait_until([&] { return axis.history().find("waits for rank 1") != std::string::npos; });
          mesh.abort("enough");
        });
        (in_call ? board.later : board.outcomes)[0].of([&] {
          if (in_call) data.call(plan);
          if (!in_call) Plan::make(axis, data.shape());
        });
        aborter.join();
      }
      all_come(board.counts[number], 2);
    });
    const Outcome& outcome = (in_call ? board.later : board.outcomes)[0];
    EXPECT_EQ(outcome.code, static_cast<int>(ErrorCode::kPeerFailed)) << outcome.words();
    EXPECT_NE(std::string(outcome.text).find("enough"), std::string::npos) << outcome.words();
  }
}

// A handler that runs every 200 us, without SA_RESTART, so that every system call that waits is
// interrupted.
class Storm {
 public:
  Storm() {
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, nullptr);
    const itimerval every = {{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &every, nullptr);
  }
  Storm(const Storm&) = delete;
  Storm& operator=(const Storm&) = delete;
  // The handler stays: ranks that are threads share it, and one may still storm.
  ~Storm() {
    const itimerval never = {};
    setitimer(ITIMER_REAL, &never, nullptr);
  }
};

inline void interrupted_system_calls(World& world) {
  constexpr int kRanks = 3;
  run_all(world, kRanks, [&](int rank) {
    const Storm storm;
    for (int round = 0; round < 50; ++round) {
      const Mesh mesh = world.mesh(round, rank, kRanks);
      for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kRing}) {
        expect_right(product(mesh, {.algorithm = algorithm, .threads = 2}));
      }
    }
  });
}

// SIGUSR1 makes a rank that waits write what it waits for.
inline void a_signal_shows_the_history(World& world) {
  static std::atomic<const Mesh*> shown{nullptr};
  static std::atomic<int> to{-1};
  Board& board = world.board();
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  to.store(ends[1]);
  struct sigaction action = {};
  action.sa_handler = [](int) { shown.load()->write_history(to.load()); };
  action.sa_flags = SA_RESTART;
  struct sigaction before = {};
  sigaction(SIGUSR1, &action, &before);
  run_all(world, 2, [&](int rank) {
    const Mesh mesh = world.mesh(0, rank, 2);
    const Axis axis = mesh.axis("tp");
    test::RankData data(small_problem(), axis);
    const Plan plan = Plan::make(axis, data.shape());
    data.call(plan);
    if (rank == 0) {
      shown.store(&mesh);
      const pthread_t waiting = pthread_self();
      std::thread signaller([&] {
        wait_until([&] { return axis.history().find("waits for rank 1") != std::string::npos; });
        pthread_kill(waiting, SIGUSR1);
        // Rank 1 goes on once the handler has written.
        char text[4096] = {};
        std::string all;
        while (all.find("waits for rank 1") == std::string::npos) {
          const ssize_t bytes = read(ends[0], text, sizeof text);
          if (bytes <= 0) break;
          all.append(text, static_cast<std::size_t>(bytes));
        }
        EXPECT_EQ(all.find("rank 0 of axis 'tp': "), 0u) << all;
        EXPECT_NE(all.find("all_gather_matmul, call 2 of plan 1, m=50: going on for "),
                  std::string::npos)
            << all;
        board.counts[0].store(1);
      });
      data.call(plan);
      signaller.join();
    } else {
      EXPECT_TRUE(wait_until([&] { return board.counts[0].load() == 1; }));
      data.call(plan);
    }
  });
  sigaction(SIGUSR1, &before, nullptr);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace cmm::contract
