// One rank fails, in each way, at each named point of a call: the others return in time with one
// cause that names it, and can make a new mesh at once.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "api/plan_state.hpp"
#include "exec/hook.hpp"
#include "support/distributed.hpp"
#include "world.hpp"

namespace cmm::contract {

enum class Fault { kThrow, kSlow, kKill, kExit, kStop };

inline const char* name_of(Fault fault) {
  constexpr const char* kNames[] = {"throw", "slow", "kill", "exit", "stop"};
  return kNames[static_cast<int>(fault)];
}

struct Scenario {
  Fault fault = Fault::kThrow;
  exec::Point point = exec::Point::kEntered;
  int victim = 0;
  int num_ranks = 3;
  Algorithm algorithm = Algorithm::kDirect;
  std::chrono::milliseconds deadline = kLimit;
};

inline std::string words(const Scenario& s) {
  return cat("rank ", s.victim, " of ", s.num_ranks, ": ", name_of(s.fault), " at point ",
             static_cast<int>(s.point), ", ", algorithm_name(s.algorithm));
}

// To the calling rank.
inline void befall(Fault fault) {
  switch (fault) {
    case Fault::kThrow:
      throw std::runtime_error("sabotage");
    case Fault::kSlow:
      std::this_thread::sleep_for(50ms);
      break;
    case Fault::kKill:
      ::kill(::getpid(), SIGKILL);
      break;
    case Fault::kExit:
      std::exit(0);
    case Fault::kStop:
      ::raise(SIGSTOP);
      break;
  }
}

// What the victim does when it comes to the point.
class Victim {
 public:
  Victim(const Scenario& scenario, World& world) : scenario_(scenario), world_(world) {}
  void attach(const Plan& plan) { plan.state().set_hook({&Victim::reach, this}); }

 private:
  static void reach(void* self, exec::Point point, int) {
    static_cast<Victim*>(self)->reach(point);
  }
  void reach(exec::Point point) {
    if (point != scenario_.point || done_.exchange(true)) return;
    world_.board().counts[0].store(1);
    befall(scenario_.fault);
  }

  const Scenario scenario_;
  World& world_;
  std::atomic<bool> done_{false};
};

inline const test::Reference& small_problem() {
  static const test::Reference reference({.m = 50, .k = 24, .n = {70}}, test::SumRule::kChain);
  return reference;
}

// A right product on a mesh, whose plan is made for it; "" or what was wrong.
inline std::string product(const Mesh& mesh, const Options& options = {}) {
  const Axis axis = mesh.axis("tp");
  test::RankData data(small_problem(), axis);
  const Plan plan = Plan::make(axis, data.shape(), options);
  data.call(plan);
  return data.difference();
}

// What a rank's later operation is told on the mesh that failed.
inline bool says_dead(const std::function<void()>& operation) {
  try {
    operation();
  } catch (const Error& error) {
    return error.code() == ErrorCode::kMeshDead;
  }
  return false;
}

inline void rank_of_scenario(const Scenario& s, World& world, int rank) {
  Board& board = world.board();
  const bool victim = rank == s.victim;
  {
    const Mesh mesh = world.mesh(0, rank, s.num_ranks);
    const Axis axis = mesh.axis("tp");
    test::RankData data(small_problem(), axis);
    const Plan plan = Plan::make(axis, data.shape(),
                                 {.algorithm = s.algorithm, .pieces = 2, .deadline = s.deadline});
    Victim trap(s, world);
    // The first call goes well, but a peer may be in it yet when the second fails; and a rank that
    // needs nothing more of the victim gets through the second and fails in the third.
    board.outcomes[rank].of([&] {
      data.call(plan);
      if (victim) trap.attach(plan);
      data.call(plan);
      data.call(plan);
    });
    if (s.fault == Fault::kSlow) {
      EXPECT_EQ(data.difference(), "");
      return;
    }
    EXPECT_TRUE(says_dead([&] { data.call(plan); }));
    EXPECT_TRUE(says_dead([&] { Plan::make(axis, data.shape()); }));
  }
  if (victim) return;
  // The survivors go on in a mesh of their own.
  const int number = rank - (rank > s.victim ? 1 : 0);
  board.later[rank].of([&] {
    const Mesh mesh = world.mesh(1, number, s.num_ranks - 1);
    const std::string difference = product(mesh);
    if (!difference.empty()) throw std::runtime_error(difference);
  });
}

inline void run_scenario(const Scenario& s, World& world) {
  SCOPED_TRACE(words(s));
  Board& board = world.board();
  const bool ends_victim = s.fault == Fault::kKill || s.fault == Fault::kExit;
  std::vector<const Outcome*> survivors;
  for (int rank = 0; rank < s.num_ranks; ++rank) {
    if (rank != s.victim) survivors.push_back(&board.outcomes[rank]);
  }
  const auto all_ended = [&] {
    return std::all_of(survivors.begin(), survivors.end(),
                       [](const Outcome* outcome) { return outcome->ended.load() == 1; });
  };
  world.run(s.num_ranks, [&](int rank) { rank_of_scenario(s, world, rank); },
            {.meanwhile =
                 [&] {
                   if (s.fault != Fault::kStop) return;
                   EXPECT_TRUE(wait_until(all_ended)) << "survivors wait for a stopped rank";
                   world.signal(s.victim, SIGCONT);
                 },
             .victims = ends_victim ? std::vector<int>{s.victim} : std::vector<int>{}});
  EXPECT_EQ(board.counts[0].load(), 1) << "the victim never came to the point";
  for (int rank = 0; rank < s.num_ranks; ++rank) {
    const Outcome& outcome = board.outcomes[rank];
    const bool lives = rank != s.victim;
    if (s.fault == Fault::kSlow) {
      EXPECT_EQ(outcome.code, Outcome::kReturned) << outcome.words();
    } else if (lives) {
      EXPECT_EQ(board.later[rank].code, Outcome::kReturned) << board.later[rank].words();
      EXPECT_EQ(board.later[rank].ended.load(), 1);
    }
  }
  switch (s.fault) {
    case Fault::kSlow:
      break;
    case Fault::kThrow:
      expect_shared_cause(world, survivors, ErrorCode::kPeerFailed, s.victim, 0ms);
      EXPECT_NE(std::string(survivors[0]->text).find("sabotage"), std::string::npos)
          << survivors[0]->text;
      break;
    case Fault::kKill:
    case Fault::kExit:
      expect_shared_cause(world, survivors, ErrorCode::kPeerFailed, s.victim, 0ms);
      EXPECT_NE(std::string(survivors[0]->text).find("is gone"), std::string::npos)
          << survivors[0]->text;
      break;
    case Fault::kStop:
      expect_shared_cause(world, survivors, ErrorCode::kDeadline, s.victim, s.deadline);
      EXPECT_NE(std::string(survivors[0]->text).find(world.silence()), std::string::npos)
          << survivors[0]->text;
      // It learns of it when it goes on.
      EXPECT_EQ(board.outcomes[s.victim].ended.load(), 1);
      EXPECT_TRUE(std::any_of(survivors.begin(), survivors.end(), [&](const Outcome* survivor) {
        return std::string_view(survivor->text) == board.outcomes[s.victim].text;
      })) << board.outcomes[s.victim].words();
      break;
  }
}

inline constexpr exec::Point kPoints[] = {
    exec::Point::kBegun,  exec::Point::kOffered, exec::Point::kEntered,    exec::Point::kArrived,
    exec::Point::kPacked, exec::Point::kClaimed, exec::Point::kBeforeDrain};

struct Sweep {
  Fault fault = Fault::kThrow;
  int num_ranks = 3;
  std::vector<Algorithm> algorithms = {Algorithm::kDirect, Algorithm::kRing};  // in place, copying
  std::chrono::milliseconds deadline = kLimit;
  bool every_victim = true;  // false: each point has one, in turn
};

template <class MakeWorld>
void at_each_point(const Sweep& sweep, MakeWorld make_world) {
  for (const Algorithm algorithm : sweep.algorithms) {
    for (const exec::Point point : kPoints) {
      for (int victim = 0; victim < sweep.num_ranks; ++victim) {
        if (!sweep.every_victim && victim != static_cast<int>(point) % sweep.num_ranks) continue;
        const auto world = make_world();
        run_scenario({.fault = sweep.fault,
                      .point = point,
                      .victim = victim,
                      .num_ranks = sweep.num_ranks,
                      .algorithm = algorithm,
                      .deadline = sweep.deadline},
                     *world);
        if (testing::Test::HasFailure()) return;  // one is enough to read
      }
    }
  }
}

}  // namespace cmm::contract
