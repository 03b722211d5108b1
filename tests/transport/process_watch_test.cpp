// How a rank sees that the process of another has ended, is stopped, or is another one by now.
#include "transport/shm/process.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "limits.hpp"
#include "support/process_ranks.hpp"

namespace cmm::transport::shm {
namespace {

using test::kSanitized;
using test::ProcessRanks;
using test::set_limit;

constexpr std::chrono::milliseconds kLimit{60'000};

class Watched : public testing::TestWithParam<Watch> {};

TEST_P(Watched, EndsAndStopsAreSeen) {
  ProcessRanks ranks;
  for (int i = 0; i < 2; ++i) {
    ranks.start([](int) {
      for (;;) pause();
    });
  }
  std::vector<Process> processes = {this_process()};
  for (int i = 0; i < 2; ++i) processes.push_back(process_of(ranks.pid(i)));
  const ProcessWatch watch(processes, GetParam());
  EXPECT_EQ(watch.kind(), GetParam());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(watch.ended(i)) << i;
  ranks.kill(0, SIGSTOP);
  ranks.await_stop(0);
  EXPECT_FALSE(watch.ended(1));
  EXPECT_EQ(watch.description(1), cat("process ", ranks.pid(0), ", which is stopped"));
  ranks.kill(1, SIGKILL);
  ranks.await_end(1);  // it stays there, unasked for, and has ended all the same
  EXPECT_TRUE(watch.ended(2));
  ranks.kill(0, SIGKILL);
  ranks.wait(kLimit);
  EXPECT_TRUE(watch.ended(1));
  EXPECT_TRUE(watch.ended(2));
  EXPECT_FALSE(watch.ended(0));
  EXPECT_EQ(watch.description(2), cat("process ", processes[2].pid, ", which has ended"));
}

// The pid was given to another process before we looked.
TEST_P(Watched, AnotherProcessWithThePidIsNotTheRank) {
  Process other = this_process();
  ASSERT_NE(other.start_ticks, 0u);
  ++other.start_ticks;
  EXPECT_TRUE(ProcessWatch({other}, GetParam()).ended(0));
}

INSTANTIATE_TEST_SUITE_P(Ways, Watched, testing::Values(Watch::kPidfd, Watch::kStartTime),
                         [](const auto& way) {
                           return way.param == Watch::kPidfd ? "Pidfd" : "StartTime";
                         });

TEST(ProcessWatch, NoDescriptorLeftIsAnErrorWithTheNumberNeeded) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers themselves need descriptors, and there are none";
  test::run_processes(1, [](int) {
    const UniqueFd next(dup(0));
    set_limit(RLIMIT_NOFILE, next.get() + 1);
    try {
      const ProcessWatch watch({this_process(), this_process()}, Watch::kPidfd);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
      EXPECT_NE(std::string(error.what()).find("ulimit -n"), std::string::npos) << error.what();
    }
  });
}

}  // namespace
}  // namespace cmm::transport::shm
