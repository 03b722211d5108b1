// What the tool does with ranks that are not of one process. Here each is a thread with a mesh and
// a world of its own, as a process would have them.
#include "world.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.hpp"
#include "combine.hpp"
#include "measure.hpp"
#include "processes_world.hpp"
#include "solve_on_threads.hpp"
#include "support/text_of_error.hpp"

namespace cmm::cli {
namespace {

// Runs body(world) as `num_ranks` processes would.
void as_processes(int num_ranks, const std::function<void(World&)>& body) {
  run_ranks({{"tp", num_ranks}}, [&](Mesh& mesh) {
    ProcessesWorld world(mesh, {"the test"});
    body(world);
  });
}

// What each rank's body returns, by rank.
template <class Body>
auto by_rank(int num_ranks, const Body& body) {
  std::vector<decltype(body(std::declval<World&>()))> results(static_cast<std::size_t>(num_ranks));
  as_processes(num_ranks, [&](World& world) {
    results[static_cast<std::size_t>(world.ranks_here(num_ranks).first)] = body(world);
  });
  return results;
}

Problem small_problem(int ranks) {
  Problem p;
  p.ranks = ranks;
  p.m = 19;
  p.k = 33;
  p.n = 41;
  p.engine = Engine::kOwn;
  p.num_weights = 2;
  return p;
}

TEST(World, SaysWhichRankSentSomethingElse) {
  const auto message = [](const std::string& text_of_1) {
    return test::text_of_error([&] {
      as_processes(2, [&](World& world) {
        if (world.reports()) {
          gather_long(world, "");
        } else {
          world.gather(text_of_1);
        }
      });
    });
  };
  for (const char* size : {"", "x", "12x", "99999999999999999999"}) {
    EXPECT_NE(message(size).find("rank 1 has sent something else where the size of a text"),
              std::string::npos)
        << size << ": " << message(size);
  }
}

TEST(World, GathersTextsOfAnyLength) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{700'000}}) {
    const auto all = by_rank(3, [&](World& world) {
      const int rank = world.ranks_here(3).first;
      const auto of = [&](int r) {
        return std::string(size * static_cast<std::size_t>(r), static_cast<char>('a' + r));
      };
      const std::vector<std::string> texts = gather_long(world, of(rank));
      return texts == std::vector<std::string>{of(0), of(1), of(2)};
    });
    EXPECT_EQ(all, (std::vector<bool>{true, true, true})) << size;
  }
}

TEST(World, GivesEveryProcessTheErrorOfTheLowestRank) {
  const auto errors = by_rank(4, [](World& world) {
    const int rank = world.ranks_here(4).first;
    try {
      together(world, [&] {
        if (rank == 2) throw Error(ErrorCode::kIo, "no file here");
        if (rank == 3) throw Error(ErrorCode::kOutOfMemory, "no memory there");
      });
    } catch (const AgreedError& error) {
      EXPECT_EQ(error.code(), ErrorCode::kIo);
      EXPECT_EQ(error.rank(), 2);
      return std::string(error.what());
    }
    return std::string("none");
  });
  EXPECT_EQ(errors, std::vector<std::string>(4, "no file here"));
}

TEST(World, EndsEveryProcessWithTheLargestExitCode) {
  EXPECT_EQ(by_rank(3, [](World& world) { return world.finish(world.reports() ? 0 : 1); }),
            (std::vector<int>{1, 1, 1}));
}

TEST(World, HasTheHashAndTheVerdictOfOneProcess) {
  for (int ranks : {1, 2, 5}) {
    const std::uint64_t on_threads = hash_of(solve(small_problem(ranks)));
    const auto hashes = by_rank(ranks, [&](World& world) {
      Solution solution = solve(world, small_problem(ranks));
      const Comparison all = check_outputs(world, solution.data, solution.definition);
      EXPECT_EQ(all.mismatches, 0) << all.first_mismatch;
      EXPECT_EQ(all.num_elements, 2 * 19 * 41);
      return output_hash(world, solution.data);
    });
    for (const std::uint64_t hash : hashes) EXPECT_EQ(hash, on_threads) << ranks;
  }
}

TEST(World, TellsEveryProcessOfAWrongElementInOne) {
  const auto comparisons = by_rank(3, [](World& world) {
    Solution solution = solve(world, small_problem(3));
    if (world.ranks_here(3).first == 1) {
      std::memset(solution.data.out(1)[1].data, 0x7f, 2);  // element (0, 14) of the second side
    }
    return check_outputs(world, solution.data, solution.definition);
  });
  for (const Comparison& comparison : comparisons) {
    EXPECT_EQ(comparison.mismatches, 1);
    EXPECT_EQ(comparison.first_mismatch.substr(0, 15), "row 0 column 14")
        << comparison.first_mismatch;
  }
}

TEST(World, MeasuresAlikeOnAllProcesses) {
  Problem p = small_problem(3);
  p.algorithm = Algorithm::kRing;
  const auto measured = by_rank(3, [&](World& world) {
    ProblemData data(world, p);
    Measurement m = measure(world, data, {.repeats = 4});
    EXPECT_EQ(m.plan.algorithm, Algorithm::kRing);
    EXPECT_FALSE(m.in_place_then_gemm);
    EXPECT_GT(m.bound_seconds(), 0);
    const Recording recording = record_call(world, data, 1000);
    std::map<int, int> calls;
    for (const Span& span : recording.spans) calls[span.rank] += span.kind == SpanKind::kCall;
    EXPECT_EQ(calls, (std::map<int, int>{{0, 1}, {1, 1}, {2, 1}}));
    return m;
  });
  for (const Measurement& m : measured) {
    EXPECT_EQ(m.repeats, 4);
    EXPECT_EQ(m.fused.median, measured[0].fused.median);
    EXPECT_EQ(m.gather.max, measured[0].gather.max);
  }
}

TEST(World, SharesTheCoresOfItsMachine) {
  const auto cores = by_rank(3, [](World& world) { return world.cores(); });
  for (const Cores& c : cores) {
    EXPECT_EQ(c.num_machines, 1);
    EXPECT_EQ(c.processes_on_machine, 3);
    EXPECT_EQ(c.in_all, c.allowed);
    EXPECT_EQ(c.of_process, std::max(1, c.allowed / 3));
  }
}

// The deadline of calls is short here; packing weights takes longer.
TEST(World, WaitsForARankThatIsNotReady) {
  using std::chrono::milliseconds;
  as_processes(2, [](World& world) {
    world.run(2, milliseconds(10), [](Rank& at) {
      if (at.rank() == 1) std::this_thread::sleep_for(milliseconds(100));
      at.get_ready();
    });
  });
  std::atomic<bool> given_up{false};
  const auto meet = [&](Rank& at) {
    const Deadline longest(std::chrono::seconds(20));
    while (at.rank() == 1 && !given_up.load() && !longest.expired()) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    try {
      at.meet();
    } catch (const Error&) {
      given_up.store(true);
      throw;
    }
  };
  EXPECT_THROW(as_processes(2, [&](World& world) { world.run(2, milliseconds(10), meet); }), Error);
}

// The first failure is what the user is told, not that others then left the measurement.
TEST(World, OfThreadsRethrowsTheFirstFailure) {
  for (int i = 0; i < 50; ++i) {
    try {
      threads_world().run(3, std::chrono::seconds(10), [](Rank& at) {
        if (at.rank() == 1) throw Error(ErrorCode::kIo, "first");
        at.meet();
      });
      FAIL();
    } catch (const std::exception& error) {
      EXPECT_STREQ(error.what(), "first");
    }
  }
}

}  // namespace
}  // namespace cmm::cli
