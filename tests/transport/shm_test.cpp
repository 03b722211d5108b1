// The conformance body over ranks that are processes, and what only processes can do to each other.
#include <gtest/gtest.h>

#include <numeric>

#include "conformance.hpp"
#include "support/notices.hpp"
#include "support/process_ranks.hpp"
#include "transport/memory/endpoint.hpp"
#include "transport/shm/meeting.hpp"

namespace cmm::transport {
namespace {

std::string new_socket_name() {
  static int number = 0;
  return cat("@cmm_shm_test_", getpid(), "_", ++number);
}

std::shared_ptr<Endpoint> join(const std::string& socket, int rank, int num_ranks) {
  const std::shared_ptr<shm::Arena> arena =
      shm::meet_at(socket,
                   {.rank = rank,
                    .num_ranks = num_ranks,
                    .axes_ranks = num_ranks,
                    .axes = "the axis of a test",
                    .token = "",
                    .control_bytes = memory::control_bytes(num_ranks),
                    .failure = {}},
                   Deadline(conformance::kLimit));
  std::vector<int> ranks(static_cast<std::size_t>(num_ranks));
  std::iota(ranks.begin(), ranks.end(), 0);
  return memory::make_endpoint(std::make_shared<memory::Group>(memory::Group::Config{
                                   .control = std::shared_ptr<std::byte>(arena, arena->control()),
                                   .space = arena,
                                   .index = rank,
                                   .members = ranks,
                                   .ranks = ranks}),
                               "shared memory");
}

void run_in_processes(int num_ranks, const conformance::Body& body) {
  const std::string socket = new_socket_name();
  test::run_processes(num_ranks, [&](int rank) { body(*join(socket, rank, num_ranks)); });
}

#define CMM_CONFORMANCE_TEST(body) \
  TEST(Processes, body) { conformance::body(run_in_processes); }
CMM_FOR_EACH_CONFORMANCE_TEST(CMM_CONFORMANCE_TEST)
#undef CMM_CONFORMANCE_TEST

TEST(Processes, a_killed_rank_is_named_by_all_others) {
  const std::string socket = new_socket_name();
  test::ProcessRanks ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.start([&](int me) {
      const auto endpoint = join(socket, me, 3);
      if (me == 1) raise(SIGKILL);
      std::string what;
      const int code = conformance::code_of(
          [&] { endpoint->exchange("", Deadline(conformance::kLimit)); }, &what);
      EXPECT_EQ(code, static_cast<int>(ErrorCode::kPeerFailed));
      EXPECT_NE(what.find("rank 1 is gone"), std::string::npos) << what;
      EXPECT_NE(what.find("has ended"), std::string::npos) << what;
    });
  }
  const auto ends = ranks.wait(conformance::kLimit);
  EXPECT_EQ(ends[1].signal, SIGKILL);
  for (const int rank : {0, 2}) {
    EXPECT_TRUE(test::ended_well(ends[static_cast<std::size_t>(rank)]))
        << ends[static_cast<std::size_t>(rank)].failures;
  }
}

TEST(Processes, a_stopped_rank_is_silent_not_dead) {
  const std::string socket = new_socket_name();
  test::ProcessRanks ranks;
  const test::Notices stopped;
  ranks.start([&](int me) {
    const auto endpoint = join(socket, me, 2);
    endpoint->exchange("", Deadline(conformance::kLimit));
    stopped.await();
    std::string what;
    const int code = conformance::code_of(
        [&] { endpoint->exchange("", Deadline(std::chrono::milliseconds(300))); }, &what);
    EXPECT_EQ(code, static_cast<int>(ErrorCode::kDeadline));
    EXPECT_NE(what.find("silent, not dead"), std::string::npos) << what;
    EXPECT_NE(what.find("which is stopped"), std::string::npos) << what;
  });
  ranks.start([&](int me) {
    const auto endpoint = join(socket, me, 2);
    endpoint->exchange("", Deadline(conformance::kLimit));
    raise(SIGSTOP);
    EXPECT_NE(conformance::code_of([&] { endpoint->check_usable(); }), -1);
  });
  ranks.await_stop(1);
  stopped.give();
  ranks.await_end(0);
  ranks.kill(1, SIGCONT);
  for (const test::RankEnd& end : ranks.wait(conformance::kLimit)) {
    EXPECT_TRUE(test::ended_well(end)) << end.failures;
  }
}

}  // namespace
}  // namespace cmm::transport
