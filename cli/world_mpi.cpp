// Ranks that mpirun started. The tool, not the library, ends the job with MPI_Abort where a failure
// leaves ranks that cannot be told: MPI_Finalize would wait for them.
#include <cstdlib>
#include <cstring>
#include <string>

#include "cmm/error.hpp"
#include "cmm/mpi.hpp"
#include "exit_code.hpp"
#include "processes_world.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

// Between MPI_Init and MPI_Finalize.
class MpiSession {
 public:
  MpiSession() {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
  }
  ~MpiSession() { MPI_Finalize(); }
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  int rank() const {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
  }
  int num_ranks() const {
    int num_ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    return num_ranks;
  }
};

// Another MPI's mpirun starts ranks that do not find each other: each is a job of its own.
void check_same_mpi(const MpiSession& session) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* announced = std::getenv(name);
    if (announced == nullptr || std::atoi(announced) == session.num_ranks()) continue;
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(version, &length);
    const std::string name_of_mpi(version, std::strcspn(version, ",\n"));
    throw Error(ErrorCode::kUnsupported,
                text("mpirun started ", announced, " ranks, of which this cmm's MPI sees ",
                     session.num_ranks(), "; use the mpirun of ", name_of_mpi,
                     ", which it was built with"));
  }
}

Mesh make_mesh(const MpiSession& session) {
  try {
    check_same_mpi(session);
    return mesh_from_mpi(MPI_COMM_WORLD, {{"tp", session.num_ranks()}});
  } catch (const Error& error) {
    const int rank = started_from_environment().rank;  // which MPI may not know
    say_in_turn({rank, rank == 0}, error.what());
    MPI_Abort(MPI_COMM_WORLD, exit_code_of(error.code()));
    throw;
  }
}

class MpiWorld : private MpiSession, public ProcessesWorld {
 public:
  MpiWorld() : ProcessesWorld(make_mesh(*this), "mpirun") {}

  int fail(const Failure& failure) override {
    const int exit_code = ProcessesWorld::fail(failure);
    if (!failure.agreed) MPI_Abort(MPI_COMM_WORLD, exit_code);
    return exit_code;
  }
};

}  // namespace

std::unique_ptr<World> make_mpi_world() { return std::make_unique<MpiWorld>(); }

}  // namespace cmm::cli
