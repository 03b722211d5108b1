// cmm launch: how ranks are started, told of signals and ended, and what is left of them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "run_tool.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kLimit{30'000};  // for what takes milliseconds on a free machine
// For a script: says that it was told to end. One that was not is killed 2 s later.
const std::string kHeeds = "trap 'echo told; exit' TERM; ";
const std::string kSleeps = "while :; do sleep 0.02; done";

bool comes_true(const std::function<bool()>& condition) {
  const Clock::time_point limit = Clock::now() + kLimit;
  while (!condition()) {
    if (Clock::now() > limit) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

std::vector<std::string> lines_of(const std::string& all) {
  std::vector<std::string> lines;
  std::istringstream in(all);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// One that has ended may wait for a parent that never asks.
bool has_ended(pid_t pid) {
  const std::string stat = content_of_process(pid, "stat");
  const std::size_t end_of_name = stat.rfind(')');
  return end_of_name == std::string::npos || stat.substr(end_of_name + 2, 1) == "Z";
}

class Launch {
 public:
  // Every rank runs the script.
  Launch(int num_ranks, const std::string& script, std::vector<std::string> flags = {}) {
    std::vector<std::string> words = {"launch", "-n", std::to_string(num_ranks)};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {"--", "sh", "-c", script});
    pid_ = start_tool(words, scratch_.file("out"), scratch_.file("err"));
  }
  ~Launch() {
    if (pid_ > 0) result();
  }

  std::string out() const { return content_of(scratch_.file("out")); }
  // The ranks' pids, where each prints its own.
  std::vector<pid_t> await_pids(std::size_t count) const {
    EXPECT_TRUE(comes_true([&] { return lines_of(out()).size() == count; })) << out();
    std::vector<pid_t> pids;
    for (const std::string& line : lines_of(out())) pids.push_back(std::stoi(line));
    return pids;
  }
  void signal(int number) const { kill(pid_, number); }
  ToolResult result() {
    return result_of(std::exchange(pid_, 0), scratch_.file("out"), scratch_.file("err"));
  }

 private:
  Scratch scratch_;
  pid_t pid_ = 0;
};

void expect_all_end(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    EXPECT_TRUE(comes_true([pid] { return has_ended(pid); })) << "process " << pid;
  }
}

void expect_part(const std::string& whole, const std::string& part) {
  EXPECT_NE(whole.find(part), std::string::npos) << whole << "\nlacks: " << part;
}

TEST(Launch, EveryRankRunsAndNothingIsSaid) {
  Launch launch(3, "echo $CMM_RANK of $CMM_NUM_RANKS");
  const ToolResult result = launch.result();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  std::vector<std::string> lines = lines_of(result.out);
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines, (std::vector<std::string>{"0 of 3", "1 of 3", "2 of 3"}));
}

TEST(Launch, AFailingRankEndsTheJobWithItsExitCode) {
  const Scratch scratch;
  const std::string of_rank = scratch.file("of_rank_");
  Launch launch(3, "if [ $CMM_RANK = 1 ]; then until [ -e " + of_rank + "0 ] && [ -e " + of_rank +
                       "2 ]; do sleep 0.02; done; exit 7; fi; " + kHeeds + ": >" + of_rank +
                       "$CMM_RANK; " + kSleeps);
  const ToolResult result = launch.result();
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.out, "told\ntold\n");
  expect_part(result.err, "cmm: rank 1 (process ");
  expect_part(result.err, ") exited with code 7; ending the other 2\n");
  EXPECT_EQ(lines_of(result.err).size(), 1U) << result.err;
}

TEST(Launch, AKilledRankEndsTheJob) {
  Launch launch(3, kHeeds + "echo $$; " + kSleeps);
  const std::vector<pid_t> pids = launch.await_pids(3);
  kill(pids[1], SIGKILL);
  const ToolResult result = launch.result();
  expect_part(result.out, "\ntold\ntold\n");
  EXPECT_EQ(result.exit_code, 128 + SIGKILL);
  expect_part(result.err, "(process " + std::to_string(pids[1]) +
                              ") was killed by signal 9 (Killed); ending the other 2\n");
  expect_all_end(pids);
}

TEST(Launch, ARankThatDoesNotHeedIsKilled) {
  Launch launch(2, "[ $CMM_RANK = 1 ] && exit 3; trap '' TERM; echo $$; while :; do sleep 1; done");
  const std::vector<pid_t> pids = launch.await_pids(1);
  EXPECT_EQ(launch.result().exit_code, 3);
  expect_all_end(pids);
}

TEST(Launch, AStoppedRankIsEndedToo) {
  Launch launch(2, "echo $$; exec sleep 600");
  const std::vector<pid_t> pids = launch.await_pids(2);
  kill(pids[0], SIGSTOP);
  kill(pids[1], SIGKILL);
  EXPECT_EQ(launch.result().exit_code, 128 + SIGKILL);
  expect_all_end(pids);
}

TEST(Launch, NoRankSurvivesAKilledLauncher) {
  Launch launch(4, "trap '' TERM HUP; echo $$; exec sleep 600");
  const std::vector<pid_t> pids = launch.await_pids(4);
  launch.signal(SIGKILL);
  EXPECT_EQ(launch.result().exit_code, -1);
  expect_all_end(pids);
}

TEST(Launch, WhatARankLeavesBehindIsEnded) {
  Launch launch(2, "setsid sleep 600 & echo $!");
  const ToolResult result = launch.result();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::vector<pid_t> left;
  for (const std::string& line : lines_of(result.out)) left.push_back(std::stoi(line));
  ASSERT_EQ(left.size(), 2U);
  for (const pid_t pid : left) EXPECT_TRUE(has_ended(pid));
}

TEST(Launch, WhatTheShellStartedBeforeIsLeftAlone) {
  const Scratch scratch;
  const std::string out = scratch.file("out"), err = scratch.file("err");
  const ToolResult result =
      result_of(start_program({"/bin/sh", "-c",
                               "sleep 60 & echo $!; exec " CMM_TOOL_PATH
                               " launch -n 2 -- sh -c 'setsid sleep 600 & [ $CMM_RANK = 0 ]'"},
                              out, err),
                out, err);
  EXPECT_EQ(result.exit_code, 1) << result.err;
  const pid_t before = std::stoi(result.out);
  EXPECT_FALSE(has_ended(before));
  kill(before, SIGKILL);
}

// All in a namespace of its own, where /proc can be covered.
TEST(Launch, EndsWithoutProc) {
  const Scratch scratch;
  const std::string out = scratch.file("out"), err = scratch.file("err");
  const ToolResult result = result_of(
      start_program({"/bin/sh", "-c",
                     "unshare -m sh -c 'mount -t tmpfs none /proc || exit 77; sleep 60 & echo $!; "
                     "exec " CMM_TOOL_PATH " launch -n 2 -- sh -c \"[ \\$CMM_RANK = 0 ]\"' || "
                     "exit $?"},
                    out, err),
      out, err);
  if (result.exit_code == 77 || result.out.empty()) GTEST_SKIP() << "no mount: " << result.err;
  EXPECT_EQ(result.exit_code, 1) << result.err;
  const pid_t before = std::stoi(result.out);
  EXPECT_FALSE(has_ended(before));
  kill(before, SIGKILL);
}

TEST(Launch, StoppedRanksThatAreToldToEndDoSo) {
  Launch launch(2, "echo $$; exec sleep 600");
  const std::vector<pid_t> pids = launch.await_pids(2);
  for (const pid_t pid : pids) kill(pid, SIGSTOP);
  launch.signal(SIGTERM);
  expect_all_end(pids);
  EXPECT_EQ(launch.result().exit_code, 128 + SIGTERM);
}

TEST(Launch, RanksThatDoNotHeedAPassedOnSignalAreKilled) {
  Launch launch(2, "trap '' TERM; echo $$; while :; do sleep 0.1; done");
  const std::vector<pid_t> pids = launch.await_pids(2);
  launch.signal(SIGTERM);
  expect_all_end(pids);
  const ToolResult result = launch.result();
  EXPECT_EQ(result.exit_code, 128 + SIGKILL);
  EXPECT_EQ(result.err,
            "cmm: 2 ranks have not ended 2 s after SIGTERM was passed on to them; killing them\n");
}

class LaunchSignal : public testing::TestWithParam<const char*> {};

TEST_P(LaunchSignal, ReachesEveryRank) {
  const std::string name = GetParam();
  Launch launch(2, "trap 'echo got " + name + "; exit 0' " + name +
                       "; echo ready; while :; do sleep 0.02; done");
  ASSERT_TRUE(comes_true([&] { return launch.out() == "ready\nready\n"; })) << launch.out();
  const std::vector<std::pair<std::string, int>> numbers = {
      {"INT", SIGINT}, {"TERM", SIGTERM}, {"HUP", SIGHUP}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}};
  for (const auto& [of, number] : numbers) {
    if (of == name) launch.signal(number);
  }
  const ToolResult result = launch.result();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "ready\nready\ngot " + name + "\ngot " + name + "\n");
}
INSTANTIATE_TEST_SUITE_P(Signals, LaunchSignal,
                         testing::Values("INT", "TERM", "HUP", "USR1", "USR2"));

TEST(Launch, ASignalThatEndsTheRanksIsTheExitCode) {
  Launch launch(2, "echo $$; exec sleep 600");
  const std::vector<pid_t> pids = launch.await_pids(2);
  launch.signal(SIGTERM);
  const ToolResult result = launch.result();
  EXPECT_EQ(result.exit_code, 128 + SIGTERM);
  expect_part(result.err, "was killed by signal 15");
  expect_all_end(pids);
}

TEST(Launch, RanksInheritWhatTheLauncherDidAndOneConnection) {
  const std::string script = "set -- /proc/self/fd/*; echo $#; grep SigBlk /proc/self/status";
  const Scratch scratch;
  EXPECT_EQ(std::system(("sh -c '" + script + "' </dev/null >" + scratch.file("out")).c_str()), 0);
  const std::vector<std::string> here = lines_of(content_of(scratch.file("out")));
  ASSERT_EQ(here.size(), 2U);
  Launch launch(1, script);
  EXPECT_EQ(launch.result().out, text(std::stoi(here[0]) + 1, "\n", here[1], "\n"));
  Launch of_three(3, "[ $CMM_RANK != 2 ] || { " + script + "; }");
  EXPECT_EQ(of_three.result().out, text(std::stoi(here[0]) + 1, "\n", here[1], "\n"));
}

TEST(Launch, Rank0HasStandardInput) {
  const Scratch scratch;
  const std::string line = "echo typed | " CMM_TOOL_PATH
                           " launch -n 3 -- sh -c 'read word; echo \"$CMM_RANK $word\"' | sort >" +
                           scratch.file("out");
  EXPECT_EQ(std::system(line.c_str()), 0);
  EXPECT_EQ(content_of(scratch.file("out")), "0 typed\n1 \n2 \n");
}

TEST(Launch, TagsLines) {
  Launch launch(2, "echo one; printf 'half '; printf two; echo bad >&2", {"--tag-output"});
  const ToolResult result = launch.result();
  EXPECT_EQ(result.exit_code, 0);
  std::vector<std::string> out = lines_of(result.out), err = lines_of(result.err);
  std::sort(out.begin(), out.end());
  std::sort(err.begin(), err.end());
  EXPECT_EQ(out, (std::vector<std::string>{"[0] half two", "[0] one", "[1] half two", "[1] one"}));
  EXPECT_EQ(err, (std::vector<std::string>{"[0] bad", "[1] bad"}));
}

TEST(Launch, PassesOnManyLines) {
  Launch launch(4, "i=0; while [ $i -lt 2000 ]; do echo line $i of many; i=$((i+1)); done",
                {"--tag-output"});
  const ToolResult result = launch.result();
  EXPECT_EQ(result.exit_code, 0);
  std::vector<int> next(4, 0);
  for (const std::string& line : lines_of(result.out)) {
    const auto rank = static_cast<std::size_t>(line[1] - '0');
    ASSERT_LT(rank, next.size()) << line;
    EXPECT_EQ(line, text("[", rank, "] line ", next[rank]++, " of many"));
  }
  EXPECT_EQ(next, std::vector<int>(4, 2000));
}

// The reader opens the pipe and does not read.
TEST(Launch, AReaderThatTakesNoMoreHoldsNothingUp) {
  const Scratch scratch;
  const std::string err = scratch.file("err"), code = scratch.file("code");
  const Clock::time_point begin = Clock::now();
  const std::string line = "{ " CMM_TOOL_PATH " launch -n 2 --tag-output --timeout 1 -- yes 2>" +
                           err + "; echo $? >" + code + "; } | { while [ ! -s " + code +
                           " ] && [ $((i=i+1)) -lt 300 ]; do sleep 0.1; done; }";
  EXPECT_EQ(std::system(line.c_str()), 0);
  EXPECT_LT(Clock::now() - begin, milliseconds(25'000));
  EXPECT_EQ(content_of(code), "124\n");
  expect_part(content_of(err), "some of what the ranks have printed is lost");
}

TEST(Launch, APipeThatDoesNotBlockLosesNothing) {
  const Scratch scratch;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execl(CMM_TOOL_PATH, "cmm", "launch", "-n", "2", "--tag-output", "--", "seq", "100000",
          nullptr);
    _exit(127);
  }
  close(ends[1]);
  // It is about full before anything is read. Users with many pipes get small ones.
  const int half = fcntl(ends[0], F_GETPIPE_SZ) / 2;
  ASSERT_TRUE(comes_true([&] {
    int bytes = 0;
    return ioctl(ends[0], FIONREAD, &bytes) == 0 && bytes >= half;
  }));
  std::string all;
  char some[4096];
  for (ssize_t count; (count = read(ends[0], some, sizeof some)) > 0;)
    all.append(some, static_cast<std::size_t>(count));
  close(ends[0]);
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  std::vector<int> last(2, 0);
  for (const std::string& line : lines_of(all)) {
    const auto rank = static_cast<std::size_t>(line[1] - '0');
    ASSERT_LT(rank, last.size()) << line;
    ASSERT_EQ(line, text("[", rank, "] ", ++last[rank]));
  }
  EXPECT_EQ(last, std::vector<int>(2, 100'000));
}

TEST(Launch, ALineWithoutAnEndIsPassedOnInPieces) {
  Launch launch(1, "head -c 200000 /dev/zero | tr '\\0' x", {"--tag-output"});
  const ToolResult result = launch.result();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string piece(65536, 'x');
  EXPECT_EQ(lines_of(result.out),
            (std::vector<std::string>{"[0] " + piece, "[0] " + piece, "[0] " + piece,
                                      "[0] " + std::string(200'000 - 3 * 65536, 'x')}));
}

TEST(Launch, EndsAfterItsTimeout) {
  Launch launch(2, "echo $$; exec sleep 600", {"--timeout", "1"});
  const ToolResult result = launch.result();
  EXPECT_EQ(result.exit_code, 124);
  EXPECT_EQ(result.err, "cmm: the job has run for 1 s (--timeout); ending its 2 ranks\n");
}

TEST(Launch, ProgramsThatCannotBeStarted) {
  expect_refused(run_tool(words_of("launch -n 3 no_such_program")), 127,
                 "cannot start 'no_such_program': No such file or directory");
  expect_refused(run_tool(words_of("launch -n 3 -- /")), 126, "cannot start '/': Permission");
}

TEST(Launch, ProgramsThatMakeNoMesh) {
  const ToolResult result = run_tool(words_of("launch -n 5 true"));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out + result.err, "");
}

TEST(Launch, WhatFollowsTheProgramIsTheProgramsOwn) {
  const std::vector<std::string> program = {
      "sh",        "-c", "for word; do echo \"<$word>\"; done",
      "sh",        "-n", "9",
      "--timeout", "--", "[a,b]",
      "",          "x y"};
  const std::string expected = "<-n>\n<9>\n<--timeout>\n<-->\n<[a,b]>\n<>\n<x y>\n";
  for (const char* line :
       {"launch -n 1 --", "launch -n 1", "launch --tag-output --ranks=1 --timeout 60"}) {
    std::vector<std::string> words = words_of(line);
    words.insert(words.end(), program.begin(), program.end());
    const ToolResult result = run_tool(words);
    std::string out = result.out;
    for (std::size_t at; (at = out.find("[0] ")) != std::string::npos;) out.erase(at, 4);
    EXPECT_EQ(out, expected) << line << "\n" << result.err;
  }
}

TEST(Launch, RefusesWrongArguments) {
  expect_refused(run_tool(words_of("launch -n 0 true")), 2,
                 "-n is '0'; give a whole number from 1");
  expect_refused(run_tool(words_of("launch -n 4097 true")), 2, "to 4096");
  expect_refused(run_tool(words_of("launch -n two true")), 2, "-n is 'two'");
  expect_refused(run_tool(words_of("launch true")), 2, "--ranks is required");
  expect_refused(run_tool(words_of("launch -n 2")), 2, "no program is named");
  expect_refused(run_tool(words_of("launch -n 2 --")), 2, "no program is named");
  expect_refused(run_tool(words_of("launch -n 2 --fast true")), 2, "unknown argument --fast");
  expect_refused(run_tool(words_of("launch -n 2 --timeout 0 true")), 2, "--timeout is '0'");
}

TEST(Launch, ARankStartsNoRanks) {
  const ToolResult result =
      run_tool({"launch", "-n", "2", CMM_TOOL_PATH, "launch", "-n", "2", "true"});
  EXPECT_EQ(result.exit_code, 2);
  expect_part(result.err, "of 2 of a job already (CMM_RANK is set)");
}

std::vector<std::string> run_of_tool(const std::string& num_ranks) {
  std::vector<std::string> words = {"launch", "-n", num_ranks, "--", CMM_TOOL_PATH};
  for (const std::string& word : words_of("run --m 37 --k 16 --n 64 --check --repeats 1"))
    words.push_back(word);
  return words;
}

TEST(Launch, SixteenRanksMakeAMesh) {
  const ToolResult result = run_tool(run_of_tool("16"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_part(result.out, "right: all 2368 elements");
}

TEST(Launch, TwoJobsAtOnce) {
  const Scratch scratch;
  const auto file = [&](int job, const char* of) { return scratch.file(of + std::to_string(job)); };
  std::vector<pid_t> pids;
  for (int job : {0, 1})
    pids.push_back(start_tool(run_of_tool("3"), file(job, "out"), file(job, "err")));
  for (int job : {0, 1}) {
    const ToolResult result =
        result_of(pids[static_cast<std::size_t>(job)], file(job, "out"), file(job, "err"));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    expect_part(result.out, "right: all 2368 elements");
  }
}

TEST(Launch, RanksThatWaitForAKilledOneHearOfIt) {
  // Ranks that do not wait yet have half a second to. On a busy machine rank 1 gives them more.
  bool heard = false;
  std::string all;
  for (const char* seconds : {"0", "1", "10"}) {
    Launch launch(3, std::string("[ $CMM_RANK = 1 ] && { sleep ") + seconds +
                         "; kill -9 $$; }; exec " CMM_TOOL_PATH " run --m 8 --k 8 --n 8");
    const ToolResult result = launch.result();
    EXPECT_EQ(result.exit_code, 128 + SIGKILL);
    expect_part(result.err, ") was killed by signal 9 (Killed)");
    // What rank 0 heard: how rank 1 ended, or only that it did, where it came to know that first.
    heard = result.err.find("rank 0: rank 1 was killed by signal 9") != std::string::npos ||
            result.err.find("rank 0: rank 1 ended") != std::string::npos;
    if (heard) break;
    all += result.err;
  }
  EXPECT_TRUE(heard) << all;
}

}  // namespace
}  // namespace cmm::cli
