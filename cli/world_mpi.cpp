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

Mesh make_mesh(const MpiSession& session, std::chrono::milliseconds deadline) {
  try {
    check_same_mpi(session);
    return mesh_from_mpi(MPI_COMM_WORLD, {{"tp", session.num_ranks()}},
                         {.deadline = meeting_deadline(deadline)});
  } catch (const Error& error) {
    const int rank = started_from_environment().rank;  // which MPI may not know
    say_in_turn({rank, rank == 0}, error.what());
    MPI_Abort(MPI_COMM_WORLD, exit_code_of(error.code()));
    throw;
  }
}

class MpiWorld : private MpiSession, public ProcessesWorld {
 public:
  explicit MpiWorld(std::chrono::milliseconds deadline)
      : ProcessesWorld(make_mesh(*this, deadline), {"mpirun", deadline}) {}

  int fail(const Failure& failure) override {
    const int exit_code = ProcessesWorld::fail(failure);
    if (!failure.agreed) MPI_Abort(MPI_COMM_WORLD, exit_code);
    return exit_code;
  }
};

// The ranks of a part, until a mesh has a communicator of its own.
class PartCommunicator {
 public:
  explicit PartCommunicator(const PartOfRanks& mine) {
    MPI_Comm_split(MPI_COMM_WORLD, mine.part < 0 ? MPI_UNDEFINED : mine.part, mine.position,
                   &comm_);
  }
  ~PartCommunicator() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  PartCommunicator(const PartCommunicator&) = delete;
  PartCommunicator& operator=(const PartCommunicator&) = delete;

  std::optional<Mesh> mesh() const {
    if (comm_ == MPI_COMM_NULL) return std::nullopt;
    int num_ranks = 1;
    MPI_Comm_size(comm_, &num_ranks);
    return mesh_from_mpi(comm_, {{"tp", num_ranks}});
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace

std::unique_ptr<World> make_mpi_world(std::chrono::milliseconds deadline) {
  return std::make_unique<MpiWorld>(deadline);
}

std::optional<Mesh> make_mpi_part(const PartOfRanks& mine) { return PartCommunicator(mine).mesh(); }

}  // namespace cmm::cli
