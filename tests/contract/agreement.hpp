// Ranks that do not mean the same: an error on all, never a wrong result on any.
#pragma once

#include "life.hpp"

namespace cmm::contract {

// What one rank does otherwise than the others, in the making of a plan or in a call.
struct Deviation {
  const char* name;
  std::function<void(ProblemShape&, Options&)> plan = [](ProblemShape&, Options&) {};
  std::function<void(const Plan& mine, const Plan& other, test::RankData&)> call =
      [](const Plan& mine, const Plan&, test::RankData& data) { data.call(mine); };
};

inline void gather_only(const Plan& plan) {
  const auto rows = static_cast<std::size_t>(plan.rows_of(plan.rank(), plan.shape().m));
  const std::int64_t k = plan.shape().k;
  std::vector<float> x(rows * static_cast<std::size_t>(k));
  std::vector<float> gathered(static_cast<std::size_t>(plan.shape().m * k));
  all_gather(plan, MatrixView<const float>(x.data(), static_cast<std::int64_t>(rows), k),
             MatrixView<float>(gathered.data(), plan.shape().m, k));
}

inline ProblemShape small_shape() { return {.m = 12, .k = 8, .n_local = {4}}; }

// Those whose plans are refused, and the mesh is as good as before.
inline const std::vector<Deviation>& refused_plans() {
  static const std::vector<Deviation> all = {
      {"m", [](ProblemShape& shape, Options&) { shape.m += 1; }},
      {"k", [](ProblemShape& shape, Options&) { shape.k += 1; }},
      {"no k", [](ProblemShape& shape, Options&) { shape.k = -1; }},
      {"dtype", [](ProblemShape& shape, Options&) { shape.dtype = DType::kBF16; }},
      {"sides", [](ProblemShape& shape, Options&) { shape.n_local.push_back(1); }},
      {"rows",
       [](ProblemShape& shape, Options&) {
         shape.rows = {shape.m, 0, 0};
       }},
      {"rows that do not sum",
       [](ProblemShape& shape, Options&) {
         shape.rows = {1, 2, 3};
       }},
      {"algorithm", [](ProblemShape&, Options& options) { options.algorithm = Algorithm::kRing; }},
      {"pieces", [](ProblemShape&, Options& options) { options.pieces = 3; }},
      {"hosts",
       [](ProblemShape&, Options& options) {
         options.algorithm = Algorithm::kHierarchical;
         options.hosts = 3;
       }},
      {"deadline", [](ProblemShape&, Options& options) { options.deadline = -1ms; }},
      {"sizes", [](ProblemShape& shape, Options&) { shape.n_local[0] = std::int64_t{1} << 62; }},
  };
  return all;
}

inline void plans_that_differ_are_refused_on_all(World& world) {
  constexpr int kRanks = 3;
  run_all(world, kRanks, [&](int rank) {
    const Mesh mesh = world.mesh(0, rank, kRanks);
    const Axis axis = mesh.axis("tp");
    test::RankData data(small_problem(), axis);
    for (const Deviation& deviation : refused_plans()) {
      for (int deviant = 0; deviant < kRanks; ++deviant) {
        ProblemShape shape = data.shape();
        Options options;
        if (rank == deviant) deviation.plan(shape, options);
        std::string refusal;
        try {
          Plan::make(axis, shape, options);
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.what();
          refusal = error.what();
        }
        EXPECT_NE(refusal, "") << deviation.name << " of rank " << deviant;
        for (const std::string& other : axis.endpoint().exchange(refusal, Deadline(kLimit))) {
          EXPECT_EQ(other, refusal) << deviation.name << " of rank " << deviant;
        }
      }
    }
    expect_right(product(mesh));
  });
}

// The rank with a wrong deadline waits for the one that is late, to tell it.
inline void a_wrong_deadline_is_refused_though_a_rank_is_late(World& world) {
  constexpr int kRanks = 2;
  run_all(world, kRanks, [&](int rank) {
    const Mesh mesh = world.mesh(0, rank, kRanks);
    const Axis axis = mesh.axis("tp");
    test::RankData data(small_problem(), axis);
    // No condition says that the other one waits no more: it shall not cease to.
    if (rank == 1) std::this_thread::sleep_for(50ms);
    std::string refusal;
    try {
      Plan::make(axis, data.shape(), {.deadline = rank == 0 ? -1ms : kLimit});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.what();
      refusal = error.what();
    }
    EXPECT_NE(refusal.find("deadline=-1 ms"), std::string::npos) << refusal;
    expect_right(product(mesh));
  });
}

// Those that end the mesh.
inline const std::vector<Deviation>& fatal_calls() {
  static const std::vector<Deviation> all = {
      {.name = "another plan",
       .call = [](const Plan&, const Plan& other, test::RankData& data) { data.call(other); }},
      {.name = "a gather without a product",
       .call = [](const Plan& plan, const Plan&, test::RankData&) { gather_only(plan); }},
      {.name = "a plan instead of a call",
       .call = [](const Plan& plan, const Plan&,
                  test::RankData& data) { Plan::make(plan.state().axis(), data.shape()); }},
      {.name = "null pointers",
       .call =
           [](const Plan& plan, const Plan&, test::RankData&) {
             const Weights y = Weights::pack(MatrixView<const float>(nullptr, 0, 0));
             all_gather_matmul(plan, ConstMatrixRef(nullptr, DType::kF32, 17, 24, 24), y,
                               MatrixRef(nullptr, DType::kF32, 50, 70, 70));
           }},
  };
  return all;
}

// Rank `deviant` does otherwise in its third call. Whoever gets a result gets the right one.
inline void run_deviation(World& world, const Deviation& deviation, int deviant, int num_ranks) {
  SCOPED_TRACE(cat(deviation.name, " of rank ", deviant));
  Board& board = world.board();
  world.run(num_ranks, [&](int rank) {
    const Mesh mesh = world.mesh(0, rank, num_ranks);
    const Axis axis = mesh.axis("tp");
    test::RankData data(small_problem(), axis);
    const Plan plan = Plan::make(axis, data.shape());
    const Plan other = Plan::make(axis, data.shape());
    board.outcomes[rank].of([&] {
      for (int call = 0; call < 5; ++call) {
        if (rank == deviant && call == 2) {
          deviation.call(plan, other, data);
        } else {
          data.call(plan);
          EXPECT_EQ(data.difference(), "");
        }
      }
    });
    // Leaving is a cause of its own; all have met theirs before.
    board.counts[0].fetch_add(1);
    wait_until([&] { return board.counts[0].load() == num_ranks; });
  });
  for (int rank = 0; rank < num_ranks; ++rank) {
    const Outcome& outcome = board.outcomes[rank];
    EXPECT_NE(outcome.code, Outcome::kReturned) << "rank " << rank << " noticed nothing";
    EXPECT_LT(outcome.seconds, 1e-3 * static_cast<double>(kGrace.count())) << outcome.words();
    EXPECT_TRUE(outcome.code == static_cast<int>(ErrorCode::kInvalidArgument) ||
                outcome.code == static_cast<int>(ErrorCode::kPeerFailed))
        << outcome.words();
  }
}

template <class MakeWorld>
void calls_that_differ_fail_on_all(MakeWorld make_world) {
  for (const Deviation& deviation : fatal_calls()) {
    for (const int deviant : {0, 2}) {
      const auto world = make_world();
      run_deviation(*world, deviation, deviant, 3);
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Rank `deviant` makes a plan, exchanges a text or comes to a barrier where the others do something
// else of the three: alike an error on all, and nobody gets a text that was not meant for it.
inline void exchanges_for_different_purposes_fail_on_all(World& world) {
  struct Step {
    const char* words;
    std::function<void(const Axis&)> take;
  };
  static const Step steps[] = {
      {"makes a plan", [](const Axis& axis) { Plan::make(axis, small_shape()); }},
      {"exchanges a text", [](const Axis& axis) { axis.exchange("hello", kLimit); }},
      {"comes to a barrier", [](const Axis& axis) { axis.barrier(kLimit); }}};
  constexpr int kRanks = 3;
  run_all(world, kRanks, [&](int rank) {
    int number = 0;
    for (const Step& of_most : steps) {
      for (const Step& of_one : steps) {
        if (&of_most == &of_one) continue;
        const int deviant = number % 2 == 0 ? 1 : 0;
        const Mesh mesh = world.mesh(number++, rank, kRanks);
        const Axis axis = mesh.axis("tp");
        axis.barrier();
        std::string what;
        try {
          (rank == deviant ? of_one : of_most).take(axis);
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.what();
          what = error.what();
        }
        for (const char* part :
             {"ranks disagree on the order of calls", of_most.words, of_one.words}) {
          EXPECT_NE(what.find(part), std::string::npos) << "rank " << rank << ": " << what;
        }
        // Leaving is a cause of its own; all have met theirs before.
        world.board().counts[0].fetch_add(1);
        wait_until([&] { return world.board().counts[0].load() >= number * kRanks; });
      }
    }
  });
}

// A deadline that is none is told to all, though the others come later than it says, and the mesh
// is as good as before.
inline void a_wrong_deadline_of_an_exchange_is_refused_on_all(World& world) {
  static const std::function<void(const Axis&, std::chrono::milliseconds)> steps[] = {
      [](const Axis& axis, auto limit) { axis.exchange("hello", limit); },
      [](const Axis& axis, auto limit) { axis.barrier(limit); }};
  constexpr int kRanks = 3;
  run_all(world, kRanks, [&](int rank) {
    const Mesh mesh = world.mesh(0, rank, kRanks);
    const Axis axis = mesh.axis("tp");
    for (const auto& step : steps) {
      if (rank != 1) std::this_thread::sleep_for(50ms);  // no condition: time itself is the point
      try {
        step(axis, rank == 1 ? 0ms : kLimit);
        ADD_FAILURE() << "rank " << rank << " was told nothing";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.what();
        EXPECT_STREQ(error.what(), "rank 1 of axis 'tp': deadline=0 ms; it must be positive");
      }
    }
    EXPECT_EQ(axis.exchange(cat(rank)), (std::vector<std::string>{"0", "1", "2"}));
    expect_right(product(mesh));
  });
}

// A rank that makes one call fewer than its peers and leaves.
inline void a_rank_one_call_behind_is_named(World& world) {
  constexpr int kRanks = 3;
  Board& board = world.board();
  world.run(kRanks, [&](int rank) {
    const Mesh mesh = world.mesh(0, rank, kRanks);
    const Axis axis = mesh.axis("tp");
    test::RankData data(small_problem(), axis);
    const Plan plan = Plan::make(axis, data.shape());
    board.outcomes[rank].of([&] {
      for (int call = 0; call < (rank == 1 ? 4 : 5); ++call) data.call(plan);
    });
  });
  EXPECT_EQ(board.outcomes[1].code, Outcome::kReturned) << board.outcomes[1].words();
  expect_shared_cause(world, {&board.outcomes[0], &board.outcomes[2]}, ErrorCode::kPeerFailed, 1,
                      0ms);
}

// One that stays away is named at the deadline, with what the others did last.
inline void a_rank_that_never_comes_is_named(World& world) {
  constexpr int kRanks = 3;
  Board& board = world.board();
  world.run(kRanks, [&](int rank) {
    const Mesh mesh = world.mesh(0, rank, kRanks);
    const Axis axis = mesh.axis("tp");
    test::RankData data(small_problem(), axis);
    const Plan plan = Plan::make(axis, data.shape(), {.deadline = 1000ms});
    data.call(plan);
    if (rank != 1) {
      board.outcomes[rank].of([&] { data.call(plan); });
      board.counts[0].fetch_add(1);
    }
    wait_until([&] { return board.counts[0].load() == kRanks - 1; });
  });
  expect_shared_cause(world, {&board.outcomes[0], &board.outcomes[2]}, ErrorCode::kDeadline, 1,
                      1000ms);
  const std::string text = board.outcomes[0].text;
  EXPECT_NE(text.find(world.silence()), std::string::npos) << text;
  EXPECT_NE(text.find("last operations of rank"), std::string::npos) << text;
  const std::string going_on = "call 2 of plan 1, m=50: going on for ";
  const std::size_t at = text.find(going_on);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_GE(std::stod(text.substr(at + going_on.size())), 1000) << text;  // in ms
}

}  // namespace cmm::contract
