// Meshes whose ranks are processes: launched, by a socket, and what can go wrong on the way.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "api/plan_state.hpp"
#include "base/deadline.hpp"
#include "cmm/cmm.hpp"
#include "support/count_resources.hpp"
#include "support/notices.hpp"
#include "support/process_ranks.hpp"
#include "transport/transport.hpp"

namespace cmm {
namespace {

using namespace std::chrono_literals;
using test::ProcessRanks;
using test::run_processes;

constexpr std::chrono::milliseconds kLimit = 60s;

class Processes : public testing::Test {
 protected:
  Processes() {
    std::string name = (std::filesystem::temp_directory_path() / "cmm_meet_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder");
    folder_ = name;
  }
  ~Processes() override {
    EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "something was left behind";
    std::filesystem::remove_all(folder_);
  }
  std::string path() const { return (folder_ / "meet").string(); }
  ProcessOptions options(int rank, int num_ranks) const {
    return {.socket = path(), .rank = rank, .num_ranks = num_ranks, .token = "", .deadline = 20s};
  }

  std::filesystem::path folder_;
};

// The text of the error that the body ends with; its code must be `code`.
std::string error_of(ErrorCode code, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error_code_name(error.code()), error_code_name(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nhas no\n" << part;
}

// x of rank r holds r + 1 everywhere, y is the identity: out shows whose rows came where.
void multiply(const Axis& axis, const MatrixView<const float>& x) {
  const std::int64_t rows = x.rows, k = x.cols, m = rows * axis.num_ranks();
  std::vector<float> y(static_cast<std::size_t>(k * k)), out(static_cast<std::size_t>(m * k));
  for (std::int64_t i = 0; i < k; ++i) y[static_cast<std::size_t>(i * k + i)] = 1;
  const auto weights = Weights::pack(MatrixView<const float>(y.data(), k, k));
  const auto plan = Plan::make(axis, {.m = m, .k = k, .n_local = {k}});
  for (int call = 0; call < 3; ++call) {
    std::fill(out.begin(), out.end(), -1.0f);
    all_gather_matmul(plan, x, weights, MatrixView<float>(out.data(), m, k));
    for (std::int64_t i = 0; i < m * k; ++i) {
      ASSERT_EQ(out[static_cast<std::size_t>(i)], static_cast<float>(i / (rows * k) + 1));
    }
  }
}

void multiply_on_heap(const Axis& axis) {
  const std::vector<float> x(std::size_t{8} * 16, static_cast<float>(axis.rank() + 1));
  multiply(axis, {x.data(), 8, 16});
}

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
  for (const auto& end : ranks.wait(kLimit)) EXPECT_TRUE(test::ended_well(end)) << end.failures;
}

TEST_F(Processes, ManyMeshesOneAfterTheOther) {
  run_processes(2, [&](int rank) {
    test::Resources before;
    for (int round = 0; round < 300; ++round) {
      if (round == 2) before = test::count_resources();
      const Mesh mesh = Mesh::processes(options(rank, 2), {{"tp", 2}});
      if (round % 50 == 0) multiply_on_heap(mesh.axis("tp"));
      mesh.axis("tp").barrier();
    }
    const test::Resources after = test::count_resources();
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
    test::Notices dead;
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
  const std::vector<test::RankEnd> ends = ranks.wait(kLimit);
  EXPECT_TRUE(test::ended_well(ends[0])) << ends[0].failures;
  EXPECT_EQ(ends[1].signal, SIGKILL);
}

// In tenths of a second, since what is left of a sleep passes while the process is stopped.
template <exec::Point kPoint, int kTenths>
void be_busy(void* context, exec::Point point, int) {
  if (point != kPoint) return;
  static_cast<test::Notices*>(context)->give();
  for (int i = 0; i < kTenths; ++i) std::this_thread::sleep_for(100ms);
}

// Ctrl-Z and fg: nobody is at fault when all were stopped for longer than the deadline, be it while
// rank 0 waits or while it works.
TEST_F(Processes, TimeInWhichAllWereStoppedHardlyCounts) {
  test::Notices busy;
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
  for (const test::RankEnd& end : ranks.wait(kLimit)) {
    EXPECT_TRUE(test::ended_well(end)) << end.failures;
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
        EXPECT_TRUE(test::ended_well(end)) << end.failures << " signal " << end.signal;
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
        EXPECT_TRUE(test::ended_well(end)) << end.failures << " signal " << end.signal;
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

// What all ranks are told must be the same text.
class Disagreements : public Processes {
 protected:
  // Each rank writes what it was told to a file of its own.
  std::vector<std::string> told(const std::vector<ProcessOptions>& all,
                                const std::vector<std::vector<AxisSize>>& axes, ErrorCode code) {
    ProcessRanks ranks;
    for (std::size_t process = 0; process < all.size(); ++process) {
      ranks.start([&](int number) {
        const auto i = static_cast<std::size_t>(number);
        const std::string text =
            error_of(code, [&] { Mesh::processes(all[i], axes[i % axes.size()]); });
        throw std::runtime_error(text);  // carries it to the parent
      });
    }
    std::vector<std::string> texts;
    for (const test::RankEnd& end : ranks.wait(kLimit)) texts.push_back(end.failures);
    for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
    return texts;
  }
};

TEST_F(Disagreements, Axes) {
  const auto texts =
      told({options(0, 2), options(1, 2)}, {{{"tp", 2}}, {{"sp", 2}}}, ErrorCode::kInvalidArgument);
  expect_contains(texts[0], "tp=2");
  expect_contains(texts[0], "sp=2");
}

TEST_F(Disagreements, ADeadlineThatIsWrongOnOneRank) {
  for (const int deviant : {0, 1}) {
    std::vector<ProcessOptions> all = {options(0, 2), options(1, 2)};
    all[static_cast<std::size_t>(deviant)].deadline = 0ms;
    const auto texts = told(all, {{{"tp", 2}}}, ErrorCode::kInvalidArgument);
    expect_contains(texts[0], cat("rank ", deviant, " cannot take part: deadline=0 ms"));
  }
}

TEST_F(Disagreements, NumberOfRanks) {
  const auto texts =
      told({options(0, 2), options(1, 3)}, {{{"tp", 2}}, {{"tp", 3}}}, ErrorCode::kInvalidArgument);
  expect_contains(texts[0], "was told of 3 ranks; this job has 2");
}

TEST_F(Disagreements, AxesThatDoNotFitTheRanks) {
  const auto texts =
      told({options(0, 2), options(1, 2)}, {{{"tp", 3}}}, ErrorCode::kInvalidArgument);
  expect_contains(texts[0], "have 3 ranks; this job has 2");
}

TEST_F(Disagreements, AxesThatAreWrongOnOneRank) {
  const auto texts =
      told({options(0, 2), options(1, 2)}, {{{"tp", 2}}, {{"tp", 0}}}, ErrorCode::kInvalidArgument);
  expect_contains(texts[0], "rank 1 cannot take part");
  expect_contains(texts[0], "size 0");
}

TEST_F(Disagreements, ARankThatComesTwice) {
  const auto texts = told({options(0, 3), options(1, 3), options(1, 3)}, {{{"tp", 3}}},
                          ErrorCode::kInvalidArgument);
  expect_contains(texts[0], "both say they are rank 1 of 3");
}

TEST_F(Disagreements, ARankThatDoesNotCome) {
  ProcessOptions first = options(0, 3), second = options(1, 3);
  first.deadline = 2s;  // to which rank 1 comes
  const auto texts = told({first, second}, {{{"tp", 3}}}, ErrorCode::kDeadline);
  expect_contains(texts[0], "rank 2 has not come");
}

TEST_F(Processes, RankZeroThatDoesNotComeIsNamed) {
  ProcessOptions mine = options(1, 2);
  mine.deadline = 100ms;
  const std::string text = error_of(ErrorCode::kDeadline, [&] {
    Mesh::processes(mine, {{"tp", 2}});
  });
  expect_contains(text, path());
  expect_contains(text, "rank 0 has not come");
}

TEST_F(Processes, AnotherTokenIsRefusedAndTheRightOneStillComesIn) {
  const auto rank_with = [&](int rank, const char* token) {
    ProcessOptions mine = options(rank, 2);
    mine.token = token;
    return [mine](int) { multiply_on_heap(Mesh::processes(mine, {{"tp", 2}}).axis("tp")); };
  };
  ProcessRanks ranks;
  ranks.start(rank_with(0, "the right one"));
  ranks.start([&](int) {
    expect_contains(error_of(ErrorCode::kInvalidArgument, [&] { rank_with(1, "another")(1); }),
                    "another token");
  });
  ranks.await_end(1);
  ranks.start(rank_with(1, "the right one"));
  for (const auto& end : ranks.wait(kLimit)) EXPECT_TRUE(test::ended_well(end)) << end.failures;
}

TEST_F(Processes, ADeadSocketIsReplacedAndAnythingElseIsLeftAlone) {
  const auto solo = [&] { Mesh::processes(options(0, 2), {{"tp", 2}}); };
  const auto solo_for_a_while = [&] { Mesh::processes({path(), 0, 2, "", 50ms}, {{"tp", 2}}); };
  // Rank 0 of a job is killed while it waits.
  {
    ProcessRanks ranks;
    ranks.start([&](int) { solo(); });
    const Deadline deadline(kLimit);
    while (!std::filesystem::exists(path()) && !deadline.expired()) usleep(1000);
    struct stat status = {};
    ASSERT_EQ(stat(path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777u, 0600u);
    expect_contains(error_of(ErrorCode::kInvalidArgument, solo), "listens at the socket");
    ranks.kill(0, SIGKILL);
    ranks.wait(kLimit);
  }
  EXPECT_TRUE(std::filesystem::exists(path()));
  expect_contains(error_of(ErrorCode::kDeadline, solo_for_a_while), "rank 1 has not come");
  EXPECT_FALSE(std::filesystem::exists(path()));

  ::close(open(path().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  expect_contains(error_of(ErrorCode::kInvalidArgument, solo), "no socket");
  EXPECT_TRUE(std::filesystem::exists(path()));
  std::filesystem::remove(path());
}

TEST_F(Processes, WrongOptionsAreNamed) {
  const auto text_of = [&](const ProcessOptions& wrong) {
    return error_of(ErrorCode::kInvalidArgument, [&] { Mesh::processes(wrong, {{"tp", 2}}); });
  };
  expect_contains(text_of(options(2, 2)), "rank=2");
  expect_contains(text_of(options(0, 0)), "num_ranks=0");
  ProcessOptions wrong = options(0, 2);
  wrong.socket = "";
  expect_contains(text_of(wrong), "no socket");
  wrong.socket = std::string(200, 'a');
  expect_contains(text_of(wrong), "200 bytes");
  wrong = options(0, 2);
  wrong.token = std::string(65, 'a');
  expect_contains(text_of(wrong), "65 bytes");
  wrong = options(0, 2);
  wrong.deadline = 0ms;
  expect_contains(text_of(wrong), "deadline=0 ms");
  wrong = options(0, 2);
  wrong.socket = (folder_ / "no folder" / "meet").string();
  error_of(ErrorCode::kIo, [&] { Mesh::processes(wrong, {{"tp", 2}}); });
}

TEST_F(Processes, AnotherUserIsKeptOut) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can come as another user";
  constexpr uid_t kNobody = 65534;
  const auto rank_of = [&](int rank) {
    ProcessOptions mine = options(rank, 2);
    mine.socket = "@" + path();  // of a path, the mode of the file keeps others out already
    return [mine](int) { multiply_on_heap(Mesh::processes(mine, {{"tp", 2}}).axis("tp")); };
  };
  ProcessRanks ranks;
  ranks.start(rank_of(0));
  ranks.start([&](int) {
    ASSERT_EQ(setuid(kNobody), 0);
    expect_contains(error_of(ErrorCode::kInvalidArgument, [&] { rank_of(1)(1); }), "user 0");
  });
  ranks.await_end(1);
  ranks.start(rank_of(1));
  for (const auto& end : ranks.wait(kLimit)) EXPECT_TRUE(test::ended_well(end)) << end.failures;
}

}  // namespace
}  // namespace cmm
