// The launcher's side of a mesh: ranks that inherit a connection and find it in their environment.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <optional>

#include "base/deadline.hpp"
#include "cmm/cmm.hpp"
#include "support/count_resources.hpp"
#include "support/notices.hpp"
#include "support/process_ranks.hpp"
#include "support/text_of_error.hpp"

namespace cmm {
namespace {

using namespace std::chrono_literals;
using test::ProcessRanks;
using test::text_of_error;

constexpr std::chrono::milliseconds kLimit = 60s;

void set_environment(const RankServer::Rank& rank) {
  for (const auto& [name, value] : rank.variables) setenv(name.c_str(), value.c_str(), 1);
}

// Starts body(rank) with its environment, serves until all have ended, and kills one meanwhile.
struct Launched {
  std::vector<test::RankEnd> ends;
};
struct Kill {
  int rank = -1;  // none
  std::chrono::microseconds after{0};
};
Launched launch(int num_ranks, const ProcessRanks::Body& body, const Kill& kill = {}) {
  RankServer server(num_ranks);
  ProcessRanks ranks;
  for (int rank = 0; rank < num_ranks; ++rank) {
    ranks.start([&](int me) {
      set_environment(server.rank(me));
      // A rank that was exec'ed has no other rank's end; a forked one drops them by hand.
      for (int other = me + 1; other < num_ranks; ++other) server.started(other);
      body(me);
    });
    server.started(rank);
  }
  std::vector<bool> ended(static_cast<std::size_t>(num_ranks));
  const Deadline deadline(kLimit);
  const auto kill_at = std::chrono::steady_clock::now() + kill.after;
  bool killed = kill.rank < 0;
  for (int num_ended = 0; num_ended < num_ranks && !deadline.expired();) {
    pollfd polled = {server.descriptor(), POLLIN, 0};
    poll(&polled, 1, killed ? 5 : 0);
    server.serve();
    if (!killed && std::chrono::steady_clock::now() >= kill_at) {
      ranks.kill(kill.rank, SIGKILL);
      killed = true;
    }
    for (int rank = 0; rank < num_ranks; ++rank) {
      const auto i = static_cast<std::size_t>(rank);
      if (ended[i] || !ranks.has_ended(rank)) continue;
      ended[i] = true;
      ++num_ended;
      server.ended(rank, "has ended as the test wanted");
    }
  }
  return {ranks.wait(1s)};
}

void expect_all_well(const Launched& launched) {
  for (std::size_t rank = 0; rank < launched.ends.size(); ++rank) {
    EXPECT_TRUE(test::ended_well(launched.ends[rank]))
        << "rank " << rank << ": " << launched.ends[rank].failures;
  }
}

TEST(RankServer, GivesEveryRankItsPlace) {
  expect_all_well(launch(3, [](int rank) {
    const auto environment = rank_environment();
    ASSERT_TRUE(environment.has_value());
    EXPECT_EQ(environment->rank, rank);
    EXPECT_EQ(environment->num_ranks, 3);
    const Mesh mesh = Mesh::from_environment({{"tp", 3}});
    EXPECT_EQ(mesh.rank(), rank);
    const auto all = mesh.axis("tp").exchange(std::to_string(rank));
    EXPECT_EQ(all, (std::vector<std::string>{"0", "1", "2"}));
  }));
}

TEST(RankServer, ServesMeshAfterMeshAndLeaksNothing) {
  const test::Resources before = test::count_resources();
  expect_all_well(launch(2, [](int) {
    constexpr int kRounds = 2'000;  // more than descriptors that a process may have
    test::Resources at_start;
    for (int round = 0; round < kRounds; ++round) {
      if (round == 2) at_start = test::count_resources();
      const Mesh mesh = Mesh::from_environment({{"tp", 2}});
      if (round % 1000 == 0) mesh.axis("tp").barrier();
    }
    const test::Resources at_end = test::count_resources();
    EXPECT_EQ(at_end.descriptors, at_start.descriptors);
    EXPECT_EQ(at_end.mappings, at_start.mappings);
  }));
  const test::Resources after = test::count_resources();
  EXPECT_EQ(after.descriptors, before.descriptors);
}

TEST(RankServer, ADisagreementIsToldToAllAndTheNextMeshIsMade) {
  const auto launched = launch(3, [](int rank) {
    const std::string text = text_of_error([&] {
      Mesh::from_environment({{rank == 2 ? "sp" : "tp", 3}});
    });
    const Mesh mesh = Mesh::from_environment({{"tp", 3}});
    const auto all = mesh.axis("tp").exchange(text);
    EXPECT_NE(text.find("disagree on the axes"), std::string::npos) << text;
    for (const std::string& other : all) EXPECT_EQ(other, text);
  });
  expect_all_well(launched);
}

TEST(RankServer, AWrongDeadlineIsToldToAll) {
  expect_all_well(launch(2, [](int rank) {
    const std::string text = text_of_error([&] {
      Mesh::from_environment({{"tp", 2}}, rank == 1 ? 0ms : kDefaultDeadline);
    });
    EXPECT_EQ(text, "rank 1 cannot take part: deadline=0 ms; it must be positive");
    Mesh::from_environment({{"tp", 2}}).axis("tp").barrier();
  }));
}

TEST(RankServer, ARankThatComesLateIsToldOfTheMeetingItMissed) {
  const test::Notices over;
  expect_all_well(launch(2, [&](int rank) {
    if (rank == 0) {
      const std::string text = text_of_error([] { Mesh::from_environment({{"tp", 2}}, 100ms); });
      EXPECT_NE(text.find("rank 1 has not come"), std::string::npos) << text;
      over.give();
    } else {
      over.await();
      const std::string text = text_of_error([] { Mesh::from_environment({{"tp", 2}}); });
      EXPECT_NE(text.find("rank 1 has not come"), std::string::npos) << text;
    }
    Mesh::from_environment({{"tp", 2}}).axis("tp").barrier();
  }));
}

TEST(RankServer, ARankThatEndsIsNamedToThoseThatWait) {
  expect_all_well(launch(3, [](int rank) {
    if (rank == 1) return;
    const std::string text = text_of_error([] { Mesh::from_environment({{"tp", 3}}); });
    EXPECT_NE(text.find("rank 1 "), std::string::npos) << text;
    EXPECT_NE(text.find("ended"), std::string::npos) << text;
    EXPECT_NE(text.find("before the ranks had met"), std::string::npos) << text;
  }));
}

// Ranks make mesh after mesh until one of them is killed, wherever it is by then.
TEST(RankServer, ARankThatIsKilledAtAnyMomentIsNamedToAllOthers) {
  constexpr int kRanks = 3;
  const auto shared =
      static_cast<std::atomic<int>*>(mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(shared), MAP_FAILED);
  for (int round = 0; round < 60; ++round) {
    shared->store(0);
    const Kill kill = {.rank = round % kRanks, .after = std::chrono::microseconds(97 * round)};
    const auto body = [&](int) {
      std::optional<Mesh> mesh;
      const std::string text = text_of_error([&] {
        for (;;) {
          mesh.emplace(Mesh::from_environment({{"tp", kRanks}}, 20s));
          mesh->axis("tp").barrier(20s);
        }
      });
      EXPECT_NE(text.find("rank " + std::to_string(kill.rank) + " "), std::string::npos) << text;
      EXPECT_TRUE(text.find("gone") != std::string::npos || text.find("ended") != std::string::npos)
          << text;
      // Whoever leaves first must not become the reason of the other.
      shared->fetch_add(1);
      const Deadline deadline(20s);
      while (shared->load() < kRanks - 1 && !deadline.expired()) usleep(100);
    };
    const Launched launched = launch(kRanks, body, kill);
    for (int rank = 0; rank < kRanks; ++rank) {
      const test::RankEnd& end = launched.ends[static_cast<std::size_t>(rank)];
      if (rank == kill.rank) {
        EXPECT_EQ(end.signal, SIGKILL);
      } else {
        EXPECT_TRUE(test::ended_well(end))
            << "round " << round << " rank " << rank << ": " << end.failures;
      }
    }
  }
  munmap(shared, sizeof(std::atomic<int>));
}

TEST(RankServer, ALauncherThatEndsIsNamed) {
  ProcessRanks processes;
  processes.start([](int) {
    RankServer server(2);
    ProcessRanks ranks;
    for (int rank = 0; rank < 2; ++rank) {
      ranks.start([&](int me) {
        set_environment(server.rank(me));
        {
          const RankServer gone = std::move(server);
          // The rank's own end must stay.
          setenv("CMM_RANK_SOCKET", std::getenv("CMM_RANK_SOCKET"), 1);
          const int kept = fcntl(gone.rank(me).descriptor, F_DUPFD_CLOEXEC, 100);
          ASSERT_GE(kept, 0);
          const std::string given = std::getenv("CMM_RANK_SOCKET");
          setenv("CMM_RANK_SOCKET", (std::to_string(kept) + given.substr(given.find(':'))).c_str(),
                 1);
        }
        const std::string text = text_of_error([] { Mesh::from_environment({{"tp", 2}}, 20s); });
        EXPECT_NE(text.find("the launcher, or rank 0, has ended"), std::string::npos) << text;
      });
      server.started(rank);
    }
    { const RankServer gone = std::move(server); }  // never served
    for (const auto& end : ranks.wait(kLimit)) EXPECT_TRUE(test::ended_well(end)) << end.failures;
  });
  for (const auto& end : processes.wait(kLimit)) EXPECT_TRUE(test::ended_well(end)) << end.failures;
}

TEST(RankServer, ALauncherThatSaysNothingIsADeadline) {
  RankServer server(1);
  ProcessRanks ranks;
  ranks.start([&](int) {
    set_environment(server.rank(0));
    const auto begin = std::chrono::steady_clock::now();
    const std::string text = text_of_error([] { Mesh::from_environment({{"tp", 1}}, 100ms); });
    EXPECT_NE(text.find("says nothing"), std::string::npos) << text;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  });
  server.started(0);
  for (const auto& end : ranks.wait(kLimit)) EXPECT_TRUE(test::ended_well(end)) << end.failures;
}

TEST(RankServer, ADescriptorThatWasClosedOnTheWayIsNamed) {
  RankServer server(2);
  ProcessRanks ranks;
  ranks.start([&](int) {
    set_environment(server.rank(0));
    server.started(0);
    const std::string closed = text_of_error([] { Mesh::from_environment({{"tp", 2}}); });
    EXPECT_NE(closed.find("CMM_RANK_SOCKET"), std::string::npos) << closed;
    EXPECT_NE(open("/dev/null", O_RDONLY | O_CLOEXEC), -1);  // takes the number
    const std::string other = text_of_error([] { Mesh::from_environment({{"tp", 2}}); });
    EXPECT_NE(other.find("pass_fds"), std::string::npos) << other;
  });
  for (const auto& end : ranks.wait(kLimit)) EXPECT_TRUE(test::ended_well(end)) << end.failures;
}

TEST(RankServer, RefusesAnImpossibleNumberOfRanks) {
  EXPECT_NE(text_of_error([] { RankServer server(0); }), "");
  EXPECT_NE(text_of_error([] { RankServer server(4097); }), "");
}

TEST(RankServer, RefusesARankThatIsNotThereOrWasStarted) {
  RankServer server(3);
  const auto expect = [](const std::function<void()>& body, const std::string& part) {
    try {
      body();
      ADD_FAILURE() << "no error; expected: " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  for (const int rank : {-1, 3, 5000}) {
    const std::string part = "rank " + std::to_string(rank) + " of a job of 3 ranks";
    expect([&] { server.rank(rank); }, part);
    expect([&] { server.started(rank); }, part);
    expect([&] { server.ended(rank, "x"); }, part);
  }
  server.started(0);
  expect([&] { server.rank(0); }, "rank 0 has been started already");
  EXPECT_GE(server.rank(1).descriptor, 0);
}

class Environment : public testing::Test {
 protected:
  Environment() {
    for (const char* name :
         {"CMM_RANK", "CMM_NUM_RANKS", "CMM_SOCKET", "CMM_TOKEN", "CMM_RANK_SOCKET",
          "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS"}) {
      unsetenv(name);
    }
  }
};

TEST_F(Environment, WithoutVariablesThereIsOneRank) {
  EXPECT_FALSE(rank_environment().has_value());
  EXPECT_EQ(Mesh::from_environment({{"tp", 1}}).num_ranks(), 1);
  std::string text = text_of_error([] { Mesh::from_environment({{"tp", 2}}); });
  for (const char* part : {"cmm launch -n 2", "CMM_SOCKET", "CMM_RANK", "CMM_NUM_RANKS"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_EQ(text.find("mesh_from_mpi"), std::string::npos) << text;
  setenv("PMIX_RANK", "0", 1);
  text = text_of_error([] { Mesh::from_environment({{"tp", 2}}); });
  EXPECT_NE(text.find("PMIX_RANK"), std::string::npos) << text;
  EXPECT_NE(text.find("cmm::mesh_from_mpi"), std::string::npos) << text;
  unsetenv("PMIX_RANK");
}

TEST_F(Environment, WrongVariablesAreNamed) {
  setenv("CMM_RANK", "1", 1);
  EXPECT_NE(text_of_error([] { rank_environment(); }).find("CMM_NUM_RANKS"), std::string::npos);
  for (const char* wrong : {"x", "0", "1 ", "-3", "5000", "99999999999"}) {
    setenv("CMM_NUM_RANKS", wrong, 1);
    EXPECT_NE(text_of_error([] { rank_environment(); }).find("CMM_NUM_RANKS"), std::string::npos);
  }
  setenv("CMM_NUM_RANKS", "2", 1);
  EXPECT_NE(text_of_error([] { rank_environment(); }).find("CMM_SOCKET"), std::string::npos);
  setenv("CMM_SOCKET", "@nobody", 1);
  EXPECT_EQ(rank_environment()->rank, 1);
  setenv("CMM_RANK", "2", 1);
  EXPECT_NE(text_of_error([] { rank_environment(); }).find("CMM_RANK='2'"), std::string::npos);
}

TEST_F(Environment, ADescriptorThatIsNoSocketIsNamed) {
  setenv("CMM_RANK", "0", 1);
  setenv("CMM_NUM_RANKS", "1", 1);
  const int file = memfd_create("cmm_test", MFD_CLOEXEC);
  struct stat status = {};
  ASSERT_EQ(fstat(file, &status), 0);
  const std::string no_socket = std::to_string(file) + ":" + std::to_string(status.st_ino);
  ASSERT_NE(fcntl(999, F_GETFD), 0);
  for (const std::string& wrong :
       {std::string("999:0"), no_socket, std::string(":"), std::string("1:")}) {
    setenv("CMM_RANK_SOCKET", wrong.c_str(), 1);
    const std::string text = text_of_error([] { Mesh::from_environment({{"tp", 1}}); });
    EXPECT_NE(text.find("'" + wrong + "' is no descriptor of this process"), std::string::npos)
        << text;
  }
  close(file);
}

TEST_F(Environment, ASocketGivenByHandWorks) {
  test::run_processes(2, [&](int rank) {
    setenv("CMM_SOCKET", ("@cmm_by_hand_" + std::to_string(getppid())).c_str(), 1);
    setenv("CMM_RANK", std::to_string(rank).c_str(), 1);
    setenv("CMM_NUM_RANKS", "2", 1);
    setenv("CMM_TOKEN", "a token", 1);
    Mesh::from_environment({{"tp", 2}}).axis("tp").barrier();
  });
}

}  // namespace
}  // namespace cmm
