// Meetings with company that is hostile, broken or dies half way.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "support/count_resources.hpp"
#include "support/process_ranks.hpp"
#include "support/text_of_error.hpp"
#include "transport/shm/meeting.hpp"
#include "transport/shm/socket.hpp"

namespace cmm::transport::shm {
namespace {

using namespace std::chrono_literals;
using test::ProcessRanks;
using test::text_of_error;

constexpr std::chrono::milliseconds kLimit = 30s;
#ifdef CMM_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

MeetRequest request_of(int rank, int num_ranks) {
  return {.rank = rank,
          .num_ranks = num_ranks,
          .axes_ranks = num_ranks,
          .axes_fingerprint = 1,
          .axes = "the axes of a test",
          .token = "a token",
          .control_bytes = 4096,
          .failure = {}};
}

Message ask_of(int rank, int num_ranks) {
  Message message;
  std::strcpy(message.token, "a token");
  message.rank = rank;
  message.nonce = 99;
  message.num_ranks = message.axes_ranks = num_ranks;
  message.axes_fingerprint = 1;
  message.process = this_process();
  message.pid_namespace = pid_namespace();
  message.region_bytes = std::int64_t{1} << 20;
  message.deadline_ms = 20'000;
  return message;
}

int lowest_free() { return UniqueFd(dup(0)).get(); }

// Returns what the limit was.
rlim_t limit_descriptors(int num_descriptors) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = static_cast<rlim_t>(num_descriptors);
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  return before;
}

class Meeting : public testing::Test {
 protected:
  Meeting() : address_(cat("@cmm_meeting_test_", getpid(), "_", ++number_)) {}

  void start_rank(int rank, int num_ranks) {
    ranks_.start([this, rank, num_ranks](int) {
      EXPECT_NE(meet_at(address_, request_of(rank, num_ranks), Deadline(kLimit)), nullptr);
    });
  }
  void expect_all_well() {
    for (const auto& end : ranks_.wait(kLimit)) EXPECT_TRUE(test::ended_well(end)) << end.failures;
  }
  UniqueFd connect() { return connect_to(address_, Deadline(kLimit)); }
  // What the server says; a message without an end of its own counts as closed.
  static Message answer_on(const UniqueFd& socket) {
    Message message;
    message.kind = Kind::kWithdraw;  // nothing that a server says
    const Deadline deadline(kLimit);
    for (;;) {
      const Received received = receive_message(socket.get(), &message, sizeof message);
      if (received.state != Received::State::kNothing || deadline.expired()) return message;
      wait_for_any({.readable = {socket.get()}}, deadline, 1'000);
    }
  }

  std::string address_;
  ProcessRanks ranks_;

 private:
  static inline int number_ = 0;
};

TEST_F(Meeting, SurvivesStrangersOfEveryKind) {
  start_rank(0, 2);
  {
    const UniqueFd garbage = connect();
    send_message(garbage.get(), "x", 1);
    EXPECT_EQ(answer_on(garbage).kind, Kind::kVerdict);
  }
  {
    const UniqueFd wrong_token = connect();
    Message message = ask_of(1, 2);
    message.token[6] = 'N';
    send_message(wrong_token.get(), &message, sizeof message);
    EXPECT_NE(text_of(answer_on(wrong_token)).find("another token"), std::string::npos);
  }
  {
    const UniqueFd wrong_version = connect();
    Message message = ask_of(1, 2);
    message.version = 77;
    send_message(wrong_version.get(), &message, sizeof message);
    EXPECT_NE(text_of(answer_on(wrong_version)).find("protocol 77"), std::string::npos);
  }
  {
    const UniqueFd other_byte_order = connect();
    Message message = ask_of(1, 2);
    message.byte_order = 0x04030201;
    send_message(other_byte_order.get(), &message, sizeof message);
    EXPECT_EQ(answer_on(other_byte_order).code, static_cast<int>(ErrorCode::kInvalidArgument));
  }
  {
    const UniqueFd too_long = connect();
    std::vector<char> bytes(sizeof(Message) + 1);
    const Message message = ask_of(1, 2);
    std::memcpy(bytes.data(), &message, sizeof message);
    send_message(too_long.get(), bytes.data(), bytes.size());
    EXPECT_EQ(answer_on(too_long).code, static_cast<int>(ErrorCode::kInvalidArgument));
  }
  {
    const UniqueFd wrong_kind = connect();
    Message message = ask_of(1, 2);
    message.kind = Kind::kAnswer;
    send_message(wrong_kind.get(), &message, sizeof message, wrong_kind.get());
    EXPECT_NE(text_of(answer_on(wrong_kind)).find("kind 2"), std::string::npos);
  }
  connect();  // and goes without a word
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(connect());
  start_rank(1, 2);
  expect_all_well();
}

TEST_F(Meeting, ARankThatDiesBeforeAllHaveComeIsReplaced) {
  start_rank(0, 3);
  {
    const UniqueFd dies = connect();
    const Message message = ask_of(1, 3);
    send_message(dies.get(), &message, sizeof message);
  }
  start_rank(1, 3);
  start_rank(2, 3);
  expect_all_well();
}

TEST_F(Meeting, ARankThatDiesOnceAllHaveComeIsToldToAll) {
  for (const int rank : {0, 2}) {
    ranks_.start([this, rank](int) {
      const std::string text =
          text_of_error([&] { meet_at(address_, request_of(rank, 3), Deadline(kLimit)); });
      EXPECT_NE(text.find("rank 1 ended"), std::string::npos) << text;
    });
  }
  {
    const UniqueFd dies = connect();
    const Message message = ask_of(1, 3);
    send_message(dies.get(), &message, sizeof message);
    EXPECT_EQ(answer_on(dies).kind, Kind::kAnswer);
  }
  expect_all_well();
}

TEST_F(Meeting, ARankThatFailsToAttachIsToldToAll) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers themselves need descriptors, and there are none";
  for (int process = 0; process < 3; ++process) {
    ranks_.start([this](int rank) {
      if (rank == 1) {
        limit_descriptors(lowest_free() + 1);  // for the socket, and none for the memory
      }
      const std::string text =
          text_of_error([&] { meet_at(address_, request_of(rank, 3), Deadline(kLimit)); });
      EXPECT_NE(text.find("rank 1 cannot map the shared memory"), std::string::npos) << text;
      EXPECT_NE(text.find("ulimit -n"), std::string::npos) << text;
    });
  }
  expect_all_well();
}

TEST_F(Meeting, ARankThatAttachesNothingIsNamedAtTheDeadline) {
  for (const int rank : {0, 2}) {
    ranks_.start([this, rank](int) {
      const std::string text = text_of_error(
          [&] { meet_at(address_, request_of(rank, 3), Deadline(rank == 0 ? 2s : kLimit)); });
      EXPECT_NE(text.find("rank 1 has not mapped the memory"), std::string::npos) << text;
    });
  }
  const UniqueFd silent = connect();
  const Message message = ask_of(1, 3);
  send_message(silent.get(), &message, sizeof message);
  expect_all_well();
}

// Held up from before its deadline until long after it, it still tells itself who is missing.
TEST_F(Meeting, RankZeroThatIsHeldUpAtItsDeadlineNamesTheRankThatIsMissing) {
  ranks_.start([this](int) {
    const std::string text =
        text_of_error([&] { meet_at(address_, request_of(0, 2), Deadline(300ms)); });
    EXPECT_NE(text.find("rank 1 has not come"), std::string::npos) << text;
  });
  connect();  // rank 0 listens, and waits
  ranks_.kill(0, SIGSTOP);
  ranks_.await_stop(0);
  std::this_thread::sleep_for(500ms);  // no condition: time itself is the point
  ranks_.kill(0, SIGCONT);
  expect_all_well();
}

TEST_F(Meeting, RankZeroThatDiesIsNamed) {
  ranks_.start([this](int) {
    Listener listener(address_, Deadline(kLimit));
    wait_for_any({.readable = {listener.descriptor()}}, Deadline(kLimit), 30'000);
    const UniqueFd rank = listener.accept();
    wait_for_any({.readable = {rank.get()}}, Deadline(kLimit), 30'000);
    raise(SIGKILL);  // with the ask unread
  });
  ranks_.start([this](int) {
    const std::string text =
        text_of_error([&] { meet_at(address_, request_of(1, 2), Deadline(kLimit)); });
    EXPECT_NE(text.find("rank 0, has ended"), std::string::npos) << text;
  });
  const auto ends = ranks_.wait(kLimit);
  EXPECT_EQ(ends[0].signal, SIGKILL);
  EXPECT_TRUE(test::ended_well(ends[1])) << ends[1].failures;
}

// The other end's last words count, though it went without reading ours.
TEST_F(Meeting, LastWordsAreReadBeforeTheEnd) {
  auto [ours, theirs] = socket_pair();
  const char unread = 'u', last = 'l';
  ASSERT_EQ(send_message(ours.get(), &unread, 1), Sent::kYes);
  ASSERT_EQ(send_message(theirs.get(), &last, 1), Sent::kYes);
  theirs = UniqueFd();
  char read = 0;
  EXPECT_EQ(receive_message(ours.get(), &read, 1).state, Received::State::kMessage);
  EXPECT_EQ(read, last);
  EXPECT_EQ(receive_message(ours.get(), &read, 1).state, Received::State::kClosed);
}

TEST_F(Meeting, LeavesNoDescriptorBehindWhateverHappens) {
  test::run_processes(1, [this](int) {
    meet_at(address_, request_of(0, 1), Deadline(kLimit));  // what a process makes but once
    const test::Resources before = test::count_resources();
    for (int round = 0; round < 20; ++round) {
      EXPECT_NE(text_of_error([&] { meet_at(address_, request_of(0, 2), Deadline(5ms)); }), "");
      EXPECT_NE(text_of_error([&] { meet_at(address_, request_of(1, 2), Deadline(5ms)); }), "");
      MeetRequest wrong = request_of(0, 2);
      wrong.axes_ranks = 3;
      EXPECT_NE(text_of_error([&] { meet_at(address_, wrong, Deadline(5ms)); }), "");
      EXPECT_NE(meet_at(address_, request_of(0, 1), Deadline(kLimit)), nullptr);
    }
    // No descriptor can be had at one step after the other.
    // The sanitizers themselves need some.
    for (int spare = kSanitized ? 12 : 0; spare < 12; ++spare) {
      test::run_processes(1, [&](int) {
        const int free = lowest_free();
        const rlim_t most = limit_descriptors(free + spare);
        const std::string text =
            text_of_error([&] { meet_at(address_, request_of(0, 1), Deadline(kLimit)); });
        EXPECT_TRUE(text.empty() || text.find("ulimit -n") != std::string::npos) << text;
        limit_descriptors(static_cast<int>(most));
        EXPECT_EQ(lowest_free(), free) << "a descriptor is left with " << spare << " to spare";
      });
    }
    const test::Resources after = test::count_resources();
    EXPECT_EQ(after.descriptors, before.descriptors);
    EXPECT_EQ(after.mappings, before.mappings);
    EXPECT_EQ(after.threads, before.threads);
  });
}

}  // namespace
}  // namespace cmm::transport::shm
