// The part of the interface that knows of MPI; in the library cmm::mpi, not in cmm::cmm.
#include "api/mesh_from_mpi.hpp"

#include <cstdlib>

#include "api/axes.hpp"
#include "api/collective.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "cmm/mpi.hpp"

namespace cmm {
namespace {

// Peers learn that this rank makes no more calls: MPI_Finalize waits for them.
void finalize() {
  if (!transport::mpi::running()) return;
  transport::mpi::leave_all("its process has come to its end");
  MPI_Finalize();
}

void initialize(int needed) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized != 0) return;
  int level = 0;
  transport::mpi::check(MPI_Init_thread(nullptr, nullptr, needed, &level), "MPI_Init_thread");
  std::atexit(finalize);
}

}  // namespace

namespace api {

transport::mpi::MeshConfig mesh_config(MPI_Comm comm, const std::vector<AxisSize>& axes) {
  transport::mpi::MeshConfig config = {.comm = comm, .axes = axes_text(axes), .lines = {}};
  int rank = 0;
  int comm_size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &comm_size);
  try {
    const int num_ranks = check_axes(axes);
    if (num_ranks != comm_size) {
      throw Error(ErrorCode::kInvalidArgument, cat("the axes ", config.axes, " have ", num_ranks,
                                                   " ranks; the communicator has ", comm_size));
    }
    config.lines = axis_lines(axes, rank);
  } catch (const Error& error) {
    config.wrong = error.what();
  }
  return config;
}

}  // namespace api

Mesh mesh_from_mpi(MPI_Comm comm, const std::vector<AxisSize>& axes, const MpiOptions& options) {
  const transport::mpi::ThreadRule threads;  // throws where MPI is not running
  if (comm == MPI_COMM_NULL) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "the communicator is MPI_COMM_NULL; a process that is in none is no rank of a mesh");
  }
  transport::mpi::MeshConfig config = api::mesh_config(comm, axes);
  if (options.deadline.count() <= 0) {
    config.wrong = cat("deadline=", options.deadline.count(), " ms; it must be positive");
  }
  config.with_helper = options.progress == MpiProgress::kHelper;
  if (config.with_helper && threads.level() < MPI_THREAD_MULTIPLE) {
    config.wrong = cat("a helper thread needs MPI_THREAD_MULTIPLE; MPI was initialised with ",
                       transport::mpi::level_name(threads.level()));
  }
  const Deadline deadline = api::agreement_deadline(options.deadline);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return Mesh(rank, axes, transport::mpi::make_endpoints(config, deadline));
}

Mesh mesh_from_environment(const std::vector<AxisSize>& axes, const MpiOptions& options) {
  if (rank_environment().has_value()) return Mesh::from_environment(axes, options.deadline);
  initialize(options.progress == MpiProgress::kHelper ? MPI_THREAD_MULTIPLE
                                                      : MPI_THREAD_SERIALIZED);
  return mesh_from_mpi(MPI_COMM_WORLD, axes, options);
}

}  // namespace cmm
