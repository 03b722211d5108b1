// Meshes over a communicator: products on them, what ends them, and what comes after.
#include <gtest/gtest.h>

#include "api/mesh_from_mpi.hpp"
#include "cmm/mpi.hpp"
#include "run_ranks.hpp"
#include "support/distributed.hpp"
#include "transport/mpi/world.hpp"
#include "transport/transport.hpp"

namespace cmm {
namespace {

using namespace std::chrono_literals;
using transport::mpi::kMeshLimit;
using transport::mpi::run_on_first;
using transport::mpi::world_rank;
using transport::mpi::world_size;

// A mesh whose ranks are taken for those of different hosts, `ranks_per_host` on each.
Mesh mesh_on_hosts(MPI_Comm comm, const std::vector<AxisSize>& axes, int ranks_per_host,
                   std::int64_t max_message_bytes = transport::mpi::kMaxMessageBytes,
                   bool with_helper = false) {
  auto config = api::mesh_config(comm, axes);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  config.apart = rank / ranks_per_host;
  config.max_message_bytes = max_message_bytes;
  config.with_helper = with_helper;
  return Mesh(rank, axes, transport::mpi::make_endpoints(config, Deadline(kMeshLimit)));
}

std::string product(const Mesh& mesh, const test::Reference& reference, const Options& options,
                    std::string_view axis_name = "tp") {
  const Axis axis = mesh.axis(axis_name);
  test::RankData data(reference, axis);
  const Plan plan = Plan::make(axis, data.shape(), options);
  for (int call = 0; call < 3; ++call) {
    data.call(plan);
    const std::string difference = data.difference();
    if (!difference.empty()) return difference;
  }
  return "";
}

// What a rank's body ended with.
struct Ended {
  int code = -1;  // -1: it returned
  int rank = -1;  // at fault
  std::string what;
};
Ended ended(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return {static_cast<int>(error.code()), error.rank(), error.what()};
  }
  return {};
}

int thread_level() {
  int level = 0;
  MPI_Query_thread(&level);
  return level;
}

#define SKIP_UNLESS(enough) \
  if (!(enough)) GTEST_SKIP() << "needs more ranks than the " << world_size() << " there are"

TEST(MpiMesh, ProductsAreRightByEveryAlgorithmAndHoweverMessagesAreCut) {
  const int num_ranks = world_size();
  const test::Reference reference({.m = 37, .k = 65, .n = {24, 9}, .gathered = true},
                                  test::SumRule::kChain);
  run_on_first(num_ranks, [&](MPI_Comm comm) {
    for (const int ranks_per_host : {1, 2, num_ranks}) {
      for (const std::int64_t max_message_bytes :
           {transport::mpi::kMaxMessageBytes, std::int64_t{1000}, std::int64_t{100}}) {
        const Mesh mesh =
            mesh_on_hosts(comm, {{"tp", num_ranks}}, ranks_per_host, max_message_bytes);
        for (const Algorithm algorithm :
             {Algorithm::kAuto, Algorithm::kDirect, Algorithm::kRing, Algorithm::kBidirectional,
              Algorithm::kRecursiveDoubling}) {
          for (const int pieces : {1, 3}) {
            Options options;
            options.algorithm = algorithm;
            options.pieces = pieces;
            ASSERT_EQ(product(mesh, reference, options), "")
                << algorithm_name(algorithm) << ", " << pieces << " pieces, " << ranks_per_host
                << " ranks a host, messages of " << max_message_bytes;
          }
        }
      }
    }
  });
}

// Threads of a rank that may not call MPI multiply and leave the messages to the first one.
TEST(MpiMesh, RanksOfSeveralThreadsAndAHelper) {
  const bool multiple = thread_level() == MPI_THREAD_MULTIPLE;
  const test::Reference reference({.m = 300, .k = 65, .n = {40}}, test::SumRule::kChain);
  SKIP_UNLESS(run_on_first(2, [&](MPI_Comm comm) {
    for (const bool with_helper : {false, true}) {
      if (with_helper && !multiple) {
        const Ended refused = ended([&] {
          mesh_from_mpi(comm, {{"tp", 2}}, {.progress = MpiProgress::kHelper});
        });
        EXPECT_EQ(refused.code, static_cast<int>(ErrorCode::kInvalidArgument));
        EXPECT_NE(refused.what.find("MPI_THREAD_MULTIPLE"), std::string::npos) << refused.what;
        continue;
      }
      const Mesh mesh = mesh_on_hosts(comm, {{"tp", 2}}, 1, 20'000, with_helper);
      for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kRing}) {
        Options options;
        options.algorithm = algorithm;
        options.pieces = 4;
        options.threads = 2;
        ASSERT_EQ(product(mesh, reference, options), "");
      }
    }
  }));
}

TEST(MpiMesh, AThreadThatMayNotCallMpiIsRefused) {
  SKIP_UNLESS(run_on_first(2, [](MPI_Comm comm) {
    const Mesh mesh = mesh_on_hosts(comm, {{"tp", 2}}, 1);
    Ended other;
    std::thread([&] { other = ended([&] { mesh.axis("tp").barrier(); }); }).join();
    if (thread_level() >= MPI_THREAD_SERIALIZED) {
      EXPECT_EQ(other.code, -1) << other.what;
    } else {
      EXPECT_EQ(other.code, static_cast<int>(ErrorCode::kInvalidArgument));
      EXPECT_NE(other.what.find("MPI_THREAD_FUNNELED"), std::string::npos) << other.what;
    }
  }));
}

// What the ranks of a test tell each other beside their meshes.
void tell(MPI_Comm comm, int rank) { MPI_Send(nullptr, 0, MPI_BYTE, rank, 0, comm); }
void await_told(MPI_Comm comm, int by_rank) {
  MPI_Request request;
  MPI_Irecv(nullptr, 0, MPI_BYTE, by_rank, 0, comm, &request);
  int done = 0;
  const Deadline deadline(60s);
  while (done == 0 && !deadline.expired()) {
    std::this_thread::sleep_for(1ms);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
  if (done != 0) return;
  ADD_FAILURE() << "rank " << by_rank << " told nothing within " << deadline.limit_ms() << " ms";
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// Another thread ends the mesh while the first one waits in an exchange.
TEST(MpiMesh, AnyThreadMayAbort) {
  SKIP_UNLESS(run_on_first(2, [](MPI_Comm comm) {
    Mesh mesh = mesh_on_hosts(comm, {{"tp", 2}}, 1);
    std::thread other([&] {
      if (mesh.rank() == 1) mesh.abort("on purpose");
    });
    Ended end;
    const Deadline longest(kMeshLimit);  // for the thread to start
    while (end.code == -1 && !longest.expired()) {
      end = ended([&] { mesh.axis("tp").barrier(); });
    }
    other.join();
    EXPECT_NE(end.what.find("rank 1 left the call: on purpose"), std::string::npos) << end.what;
  }));
}

TEST(MpiMesh, SubMeshesAndSeveralMeshesAtOnceDoNotMix) {
  const test::Reference one({.m = 12, .k = 33, .n = {16}, .seed = 1}, test::SumRule::kChain);
  const test::Reference two({.m = 12, .k = 33, .n = {16}, .seed = 2}, test::SumRule::kChain);
  SKIP_UNLESS(run_on_first(4, [&](MPI_Comm comm) {
    for (const int ranks_per_host : {1, 2, 4}) {
      const Mesh grid = mesh_on_hosts(comm, {{"dp", 2}, {"tp", 2}}, ranks_per_host);
      const Mesh line = mesh_on_hosts(comm, {{"tp", 4}}, ranks_per_host);
      ASSERT_EQ(product(grid, grid.rank() < 2 ? one : two, {}, "tp"), "");
      ASSERT_EQ(product(line, one, {}, "tp"), "");
      ASSERT_EQ(product(grid, grid.rank() % 2 == 0 ? one : two, {}, "dp"), "");
      ASSERT_EQ(product(line, two, {}, "tp"), "");
    }
  }));
}

TEST(MpiMesh, RanksOfOneHostAreFoundAndShareMemory) {
  run_on_first(world_size(), [](MPI_Comm comm) {
    const Mesh mesh = mesh_from_mpi(comm, {{"tp", world_size()}});
    EXPECT_EQ(mesh.axis("tp").endpoint().transport_name(), "shared memory");
    const Memory memory = mesh.allocate(4096);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 64, 0u);
  });
}

// Ranks that are not consecutive: 0 and 2 on one host, 1 and 3 on the other.
TEST(MpiMesh, HostsTellWhichRanksShareMemory) {
  SKIP_UNLESS(run_on_first(4, [](MPI_Comm comm) {
    auto config = api::mesh_config(comm, {{"tp", 4}});
    const int rank = config.lines[0].rank;
    config.apart = 10 - rank % 2;
    const auto endpoints = transport::mpi::make_endpoints(config, Deadline(kMeshLimit));
    EXPECT_EQ(endpoints[0]->hosts(), (std::vector<int>{0, 1, 0, 1}));
    EXPECT_EQ(endpoints[0]->transport_name(), "MPI");
    const Mesh mesh(rank, {{"tp", 4}}, endpoints);
    const test::Reference reference({.m = 12, .k = 33, .n = {16}}, test::SumRule::kChain);
    for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kRing}) {
      Options options;
      options.algorithm = algorithm;
      EXPECT_EQ(product(mesh, reference, options), "");
    }
  }));
}

TEST(MpiMesh, NoCommunicatorIsRefused) {
  const Ended end = ended([] { mesh_from_mpi(MPI_COMM_NULL, {{"tp", 1}}); });
  EXPECT_EQ(end.code, static_cast<int>(ErrorCode::kInvalidArgument)) << end.what;
}

TEST(MpiMesh, WrongAxesAreTheSameErrorOnAllRanks) {
  SKIP_UNLESS(run_on_first(2, [](MPI_Comm comm) {
    const std::vector<AxisSize> three = {{"tp", 3}};
    const Ended wrong = ended([&] { mesh_from_mpi(comm, three); });
    EXPECT_EQ(wrong.code, static_cast<int>(ErrorCode::kInvalidArgument));
    EXPECT_EQ(wrong.what, "rank 0: the axes tp=3 have 3 ranks; the communicator has 2");

    const bool first = world_rank() == 0;
    const Ended empty = ended([&] {
      mesh_from_mpi(comm, first ? std::vector<AxisSize>{{"tp", 2}} : std::vector<AxisSize>{});
    });
    EXPECT_EQ(empty.code, static_cast<int>(ErrorCode::kInvalidArgument));
    EXPECT_EQ(empty.what, "rank 1: a mesh needs at least one axis, e.g. {{\"tp\", 4}}");

    const Ended differ = ended([&] { mesh_from_mpi(comm, {{first ? "tp" : "dp", 2}}); });
    EXPECT_EQ(differ.code, static_cast<int>(ErrorCode::kInvalidArgument));
    EXPECT_EQ(differ.what, "the ranks disagree on the axes: rank 0 has tp=2, rank 1 has dp=2");

    EXPECT_EQ(mesh_from_mpi(comm, {{"tp", 2}}).num_ranks(), 2);
  }));
}

// Rank 1 makes no mesh in time. The ranks that have begun one go on waiting for it in their next
// attempt, and so does rank 1 when it comes.
TEST(MpiMesh, ARankThatMakesNoMeshEndsTheOthersAtTheirDeadline) {
  SKIP_UNLESS(run_on_first(2, [](MPI_Comm comm) {
    if (world_rank() == 0) {
      const auto begin = std::chrono::steady_clock::now();
      const Ended late = ended([&] { mesh_from_mpi(comm, {{"tp", 2}}, {.deadline = 50ms}); });
      EXPECT_EQ(late.code, static_cast<int>(ErrorCode::kDeadline));
      EXPECT_NE(late.what.find("50 ms"), std::string::npos) << late.what;
      EXPECT_LT(std::chrono::steady_clock::now() - begin, kMeshLimit / 2);
      tell(comm, 1);
    } else {
      await_told(comm, 0);
    }
    const Mesh mesh = mesh_from_mpi(comm, {{"tp", 2}}, {.deadline = kMeshLimit});
    EXPECT_EQ(mesh.axis("tp").exchange("here").size(), 2u);
  }));
}

// One call of a plan in which `mischief` may happen; every rank's end.
Ended call(const Mesh& mesh, const Options& options, const std::function<void(int)>& mischief,
           std::int64_t m = 64) {
  const Axis axis = mesh.axis("tp");
  return ended([&] {
    const std::int64_t rows = m / axis.num_ranks();
    std::vector<float> x(static_cast<std::size_t>(rows * 4096), 1.0f);
    std::vector<float> y(4096 * 4, 1.0f);
    std::vector<float> out(static_cast<std::size_t>(m * 4));
    const Plan plan = Plan::make(axis, {.m = 64, .k = 4096, .n_local = {4}}, options);
    const Weights weights = Weights::pack(MatrixView<float>(y.data(), 4096, 4));
    mischief(axis.rank());
    all_gather_matmul(plan, MatrixView<float>(x.data(), rows, 4096), weights,
                      MatrixView<float>(out.data(), m, 4));
  });
}

void expect_a_new_mesh_works(MPI_Comm comm, int num_ranks) {
  const test::Reference reference({.m = 12, .k = 33, .n = {16}}, test::SumRule::kChain);
  EXPECT_EQ(product(mesh_on_hosts(comm, {{"tp", num_ranks}}, 1), reference, {}), "");
}

TEST(MpiMesh, ARankThatThrowsIsNamedOnEveryRank) {
  SKIP_UNLESS(run_on_first(4, [](MPI_Comm comm) {
    for (const int ranks_per_host : {1, 2}) {
      Mesh mesh = mesh_on_hosts(comm, {{"tp", 4}}, ranks_per_host);
      const Ended end = call(mesh, {}, [&](int rank) {
        if (rank != 3) return;
        mesh.abort("no more paper");
        throw Error(ErrorCode::kIo, "on purpose");
      });
      if (mesh.rank() != 3) {
        EXPECT_EQ(end.code, static_cast<int>(ErrorCode::kPeerFailed)) << end.what;
        EXPECT_EQ(end.what, "rank 3 left the call: no more paper");
      }
      EXPECT_NE(ended([&] { mesh.axis("tp").barrier(); }).code, -1);
      expect_a_new_mesh_works(comm, 4);
    }
  }));
}

TEST(MpiMesh, ASilentRankIsNamedAtTheDeadline) {
  SKIP_UNLESS(run_on_first(4, [](MPI_Comm comm) {
    for (const int ranks_per_host : {1, 2}) {
      const Mesh mesh = mesh_on_hosts(comm, {{"tp", 4}}, ranks_per_host);
      Options options;
      options.algorithm = Algorithm::kRing;  // most ranks wait for one that waits too
      options.deadline = 1000ms;
      const auto begin = std::chrono::steady_clock::now();
      const Ended end = call(mesh, options, [&](int rank) {
        if (rank != 2) return;
        for (const int other : {0, 1, 3}) await_told(comm, other);
      });
      if (mesh.rank() != 2) tell(comm, 2);
      const auto waited = std::chrono::steady_clock::now() - begin;
      EXPECT_EQ(end.code, static_cast<int>(ErrorCode::kDeadline)) << end.what;
      EXPECT_EQ(end.rank, 2) << end.what;
      EXPECT_LT(waited, kMeshLimit / 2);
      transport::mpi::meet_all_of(comm);
      expect_a_new_mesh_works(comm, 4);
    }
  }));
}

TEST(MpiMesh, DifferentMIsTheSameErrorOnBothRanks) {
  SKIP_UNLESS(run_on_first(2, [](MPI_Comm comm) {
    const Mesh mesh = mesh_on_hosts(comm, {{"tp", 2}}, 1);
    const Ended end = call(
        mesh, {}, [](int) {}, mesh.rank() == 0 ? 64 : 32);
    EXPECT_EQ(end.code, static_cast<int>(ErrorCode::kInvalidArgument)) << end.what;
    EXPECT_NE(end.what.find("rank 0 calls plan 1 (call 1 of all_gather_matmul with m=64"),
              std::string::npos)
        << end.what;
    EXPECT_NE(end.what.find("rank 1 calls plan 1 (call 1 of all_gather_matmul with m=32"),
              std::string::npos)
        << end.what;
    expect_a_new_mesh_works(comm, 2);
  }));
}

// Neither memory nor communicators pile up: MPICH has about 2000 of the latter.
TEST(MpiMesh, MeshesComeAndGo) {
  SKIP_UNLESS(run_on_first(2, [](MPI_Comm comm) {
    for (int round = 0; round < 2200; ++round) {
      const Mesh mesh = mesh_on_hosts(comm, {{"tp", 2}}, 1);
      const auto texts = mesh.axis("tp").exchange(cat(round));
      ASSERT_EQ(texts[static_cast<std::size_t>(1 - mesh.rank())], cat(round));
    }
    EXPECT_LT(transport::mpi::unused_communicators(2).size(), 20u);
  }));
}

}  // namespace
}  // namespace cmm
