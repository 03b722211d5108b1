// Meshes whose ranks are processes: what works as with threads, and what stops and deaths do.
#include "processes.hpp"

#include <csignal>

#include "api/plan_state.hpp"
#include "support/count_resources.hpp"
#include "support/notices.hpp"
#include "transport/transport.hpp"

namespace cmm::test {
namespace {

using namespace std::chrono_literals;

TEST_F(Processes, MultiplyAsThreadsDo) {
  run_processes(3, [&](int rank) {
    const Mesh mesh = Mesh::processes(options(rank, 3), {{"tp", 3}});
    EXPECT_EQ(mesh.rank(), rank);
    EXPECT_EQ(mesh.num_ranks(), 3);
    const Axis tp = mesh.axis("tp");
    EXPECT_EQ(tp.rank(), rank);
    multiply_on_heap(tp);
    const Memory memory = mesh.allocate(8 * 16 * 4);
    std::fill_n(memory.as<float>(), 8 * 16, static_cast<float>(rank + 1));
    multiply(tp, {memory.as<float>(), 8, 16});
  });
}

TEST_F(Processes, AxesAreIndependent) {
  run_processes(6, [&](int rank) {
    const Mesh mesh = Mesh::processes(options(rank, 6), {{"dp", 2}, {"tp", 3}});
    const Axis dp = mesh.axis("dp"), tp = mesh.axis("tp");
    EXPECT_EQ(dp.rank(), rank / 3);
    EXPECT_EQ(tp.rank(), rank % 3);
    for (int round = 0; round < 20; ++round) {
      const std::string mine = std::to_string(rank) + "." + std::to_string(round);
      const auto of_tp = tp.exchange(mine);
      ASSERT_EQ(of_tp.size(), 3u);
      for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(of_tp[static_cast<std::size_t>(i)],
                  std::to_string(rank / 3 * 3 + i) + "." + std::to_string(round));
      }
      const auto of_dp = dp.exchange(mine);
      ASSERT_EQ(of_dp.size(), 2u);
      for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(of_dp[static_cast<std::size_t>(i)],
                  std::to_string(i * 3 + rank % 3) + "." + std::to_string(round));
      }
    }
    multiply_on_heap(tp);
    multiply_on_heap(dp);
    // One row of tp dies once all are out of their calls; the other row goes on.
    tp.barrier();
    if (rank == 1) tp.endpoint().fail(Error(ErrorCode::kPeerFailed, "on purpose", 1));
    if (rank < 3) {
      EXPECT_THROW(tp.barrier(), Error);
    } else {
      multiply_on_heap(tp);
    }
  });
}

TEST_F(Processes, TwoJobsAtOnce) {
  ProcessRanks ranks;
  for (int process = 0; process < 4; ++process) {
    ranks.start([&](int number) {
      ProcessOptions mine = options(number % 2, 2);
      mine.socket += number / 2 == 0 ? "" : "2";
      const Mesh mesh = Mesh::processes(mine, {{"tp", 2}});
      const auto all = mesh.axis("tp").exchange(std::to_string(number));
      EXPECT_EQ(all[0], std::to_string(number / 2 * 2));
      EXPECT_EQ(all[1], std::to_string(number / 2 * 2 + 1));
      multiply_on_heap(mesh.axis("tp"));
    });
  }
  for (const auto& end : ranks.wait(kLimit)) EXPECT_TRUE(ended_well(end)) << end.failures;
}

TEST_F(Processes, ManyMeshesOneAfterTheOther) {
  run_processes(2, [&](int rank) {
    Resources before;
    for (int round = 0; round < 300; ++round) {
      if (round == 2) before = count_resources();
      const Mesh mesh = Mesh::processes(options(rank, 2), {{"tp", 2}});
      if (round % 50 == 0) multiply_on_heap(mesh.axis("tp"));
      mesh.axis("tp").barrier();
    }
    const Resources after = count_resources();
    EXPECT_EQ(after.descriptors, before.descriptors);
    EXPECT_EQ(after.mappings, before.mappings);
    EXPECT_EQ(after.threads, before.threads);
  });
}

TEST_F(Processes, ANewMeshCanBeMadeAfterAFailure) {
  run_processes(2, [&](int rank) {
    const Mesh dead = Mesh::processes(options(rank, 2), {{"tp", 2}});
    if (rank == 0) dead.axis("tp").endpoint().fail(Error(ErrorCode::kPeerFailed, "on purpose", 0));
    EXPECT_THROW(dead.axis("tp").barrier(), Error);
    error_of(ErrorCode::kMeshDead, [&] { dead.axis("tp").barrier(); });
    const Mesh mesh = Mesh::processes(options(rank, 2), {{"tp", 2}});
    multiply_on_heap(mesh.axis("tp"));
  });
}

// Rank 0 goes on with the rows it has once rank 1 is dead, and looks after each claim of some ten.
TEST_F(Processes, ADeathIsNoticedWhileTheOthersMultiply) {
  constexpr std::int64_t kRows = 300, kK = 8, kN = 8192;
  struct Claims {
    Notices dead;
    int count = 0;
  } claims;
  const auto nap = [](void* context, exec::Point point, int) {
    if (point != exec::Point::kClaimed) return;
    auto& of = *static_cast<Claims*>(context);
    if (++of.count == 1) of.dead.await();
    std::this_thread::sleep_for(30ms);  // looks are 20 ms apart at least
  };
  const auto die = [](void*, exec::Point point, int) {
    if (point == exec::Point::kOffered) ::kill(::getpid(), SIGKILL);
  };
  const auto body = [&](int rank) {
    const Mesh mesh = Mesh::processes(options(rank, 2), {{"tp", 2}});
    const std::vector<float> x(kRows * kK, 1), y(kK * kN, 1);
    std::vector<float> out(2 * kRows * kN);
    const auto weights = Weights::pack(MatrixView<const float>(y.data(), kK, kN));
    const auto plan =
        Plan::make(mesh.axis("tp"), {.m = 2 * kRows, .k = kK, .n_local = {kN}}, {.threads = 1});
    plan.state().set_hook({rank == 0 ? +nap : +die, &claims});
    try {
      all_gather_matmul(plan, MatrixView<const float>(x.data(), kRows, kK), weights,
                        MatrixView<float>(out.data(), 2 * kRows, kN));
      ADD_FAILURE() << "rank 1 died, yet the call returned";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kPeerFailed);
      EXPECT_EQ(error.rank(), 1) << error.what();
    }
    EXPECT_LE(claims.count, 3);
  };
  ProcessRanks ranks;
  for (int rank = 0; rank < 2; ++rank) ranks.start(body);
  ranks.await_end(1);
  claims.dead.give();
  const std::vector<RankEnd> ends = ranks.wait(kLimit);
  EXPECT_TRUE(ended_well(ends[0])) << ends[0].failures;
  EXPECT_EQ(ends[1].signal, SIGKILL);
}

// In tenths of a second, since what is left of a sleep passes while the process is stopped.
template <exec::Point kPoint, int kTenths>
void be_busy(void* context, exec::Point point, int) {
  if (point != kPoint) return;
  static_cast<Notices*>(context)->give();
  for (int i = 0; i < kTenths; ++i) std::this_thread::sleep_for(100ms);
}

// Ctrl-Z and fg: nobody is at fault when all were stopped for longer than the deadline, be it while
// rank 0 waits or while it works.
TEST_F(Processes, TimeInWhichAllWereStoppedHardlyCounts) {
  Notices busy;
  ProcessRanks ranks;
  for (const bool works : {false, true}) {
    for (int rank = 0; rank < 2; ++rank) {
      ranks.start([&, rank, works](int) {
        ProcessOptions where = options(rank, 2);
        if (works) where.socket += "_working";
        const Mesh mesh = Mesh::processes(where, {{"tp", 2}});
        const std::vector<float> x(4 * 8, 1), y(8 * 4, 1);
        std::vector<float> out(8 * 4);
        const auto weights = Weights::pack(MatrixView<const float>(y.data(), 8, 4));
        const auto plan =
            Plan::make(mesh.axis("tp"), {.m = 8, .k = 8, .n_local = {4}}, {.deadline = 4000ms});
        if (rank == 1) plan.state().set_hook({&be_busy<exec::Point::kOffered, 15>, &busy});
        if (rank == 0 && works) {
          plan.state().set_hook({&be_busy<exec::Point::kBeforeDrain, 9>, &busy});
        }
        all_gather_matmul(plan, MatrixView<const float>(x.data(), 4, 8), weights,
                          MatrixView<float>(out.data(), 8, 4));
      });
    }
  }
  busy.await(3);
  std::this_thread::sleep_for(100ms);  // rank 0 that waits has come to it
  for (int i = 0; i < 4; ++i) ranks.kill(i, SIGSTOP);
  std::this_thread::sleep_for(4500ms);
  for (int i = 0; i < 4; ++i) ranks.kill(i, SIGCONT);
  for (const RankEnd& end : ranks.wait(kLimit)) {
    EXPECT_TRUE(ended_well(end)) << end.failures;
  }
}

TEST_F(Processes, AForkedChildMayNotUseTheMesh) {
  run_processes(2, [&](int rank) {
    const Mesh mesh = Mesh::processes(options(rank, 2), {{"tp", 2}});
    const Axis tp = mesh.axis("tp");
    tp.barrier();
    {
      ProcessRanks children;
      children.start([&](int) {
        expect_contains(error_of(ErrorCode::kInvalidArgument, [&] { tp.barrier(); }), "forked");
        error_of(ErrorCode::kInvalidArgument, [&] { mesh.allocate(1); });
        const Mesh copy = mesh;  // goes, and must not take the parent's place with it
      });
      for (const auto& end : children.wait(kLimit)) {
        EXPECT_TRUE(ended_well(end)) << end.failures << " signal " << end.signal;
      }
    }
    multiply_on_heap(tp);
  });
}

// In the child the last handle goes, while the parent goes on.
TEST_F(Processes, AForkedChildMayDestroyTheMesh) {
  run_processes(2, [&](int rank) {
    auto mesh = std::make_unique<Mesh>(Mesh::processes(options(rank, 2), {{"tp", 2}}));
    auto memory = std::make_unique<Memory>(mesh->allocate(5000));
    mesh->axis("tp").barrier();
    {
      ProcessRanks children;
      children.start([&](int) {
        memory.reset();
        mesh.reset();
      });
      for (const auto& end : children.wait(kLimit)) {
        EXPECT_TRUE(ended_well(end)) << end.failures << " signal " << end.signal;
      }
    }
    multiply_on_heap(mesh->axis("tp"));
  });
}

TEST_F(Processes, MemoryMayOutliveTheMesh) {
  run_processes(2, [&](int rank) {
    Memory memory;
    {
      const Mesh mesh = Mesh::processes(options(rank, 2), {{"tp", 2}});
      memory = mesh.allocate(100'000);
      mesh.axis("tp").barrier();
    }
    std::fill_n(memory.as<char>(), memory.bytes(), char(rank));
    EXPECT_EQ(memory.as<char>()[99'999], char(rank));
  });
}

TEST_F(Processes, MoreMemoryThanThereIsIsAnErrorWithBothNumbers) {
  const Mesh mesh = Mesh::processes(options(0, 1), {{"tp", 1}});
  const std::string text =
      error_of(ErrorCode::kOutOfMemory, [&] { mesh.allocate(std::int64_t{1} << 50); });
  expect_contains(text, "1125899906842624 bytes");
  error_of(ErrorCode::kInvalidArgument, [&] { mesh.allocate(-1); });
  EXPECT_EQ(mesh.allocate(0).bytes(), 0);
}

TEST_F(Processes, ExchangeRefusesASecondCall) {
  const Mesh mesh = Mesh::threads({{"tp", 2}})[0];
  const Axis tp = mesh.axis("tp");
  ASSERT_TRUE(tp.endpoint().try_claim());
  error_of(ErrorCode::kBusy, [&] { tp.barrier(); });
  tp.endpoint().unclaim();
  expect_contains(error_of(ErrorCode::kPeerFailed, [&] { tp.exchange("", 20ms); }), "rank 1");
  error_of(ErrorCode::kMeshDead, [&] { tp.barrier(); });
}

}  // namespace
}  // namespace cmm::test
