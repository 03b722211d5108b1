// A build without MPI.
#include "cmm/error.hpp"
#include "processes_world.hpp"

namespace cmm::cli {

std::unique_ptr<World> make_mpi_world(std::chrono::milliseconds /*deadline*/) {
  throw Error(ErrorCode::kUnsupported,
              "mpirun started this process, but this cmm was built without MPI; install "
              "libopenmpi-dev or libmpich-dev, whichever mpirun belongs to, and build again, or "
              "start ranks of one host with `cmm launch`");
}

std::optional<Mesh> make_mpi_part(const PartOfRanks& /*mine*/) { return std::nullopt; }

}  // namespace cmm::cli
