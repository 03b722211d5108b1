// On the way to a mesh of processes: ranks that disagree, do not come or may not.
#include "processes.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <stdexcept>

#include "base/deadline.hpp"
#include "base/text.hpp"

namespace cmm::test {
namespace {

using namespace std::chrono_literals;

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
    for (const RankEnd& end : ranks.wait(kLimit)) texts.push_back(end.failures);
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
  for (const auto& end : ranks.wait(kLimit)) EXPECT_TRUE(ended_well(end)) << end.failures;
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
  wrong.socket = scratch_.file("no folder/meet");
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
  for (const auto& end : ranks.wait(kLimit)) EXPECT_TRUE(ended_well(end)) << end.failures;
}

}  // namespace
}  // namespace cmm::test
