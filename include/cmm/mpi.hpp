// Meshes whose ranks are the ranks of an MPI communicator, on one host or many. This header and the
// library behind it, cmm::mpi, are there where CMM_MPI found an MPI; docs/mpi.md says how it works.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "cmm/mesh.hpp"

namespace cmm {

// Who moves messages while a rank multiplies.
enum class MpiProgress : std::uint8_t {
  kAuto,   // the library decides: kPoll
  kPoll,   // the threads that multiply, between two blocks
  kHelper  // those and a thread of its own, which sleeps 50 us between two looks while a call runs
};

struct MpiOptions {
  // For making the mesh; each call on it has a deadline of its own.
  std::chrono::milliseconds deadline = kDefaultDeadline;
  // kHelper needs MPI_THREAD_MULTIPLE: its thread calls MPI at any time. Each rank's own.
  MpiProgress progress = MpiProgress::kAuto;
};

// Collective over `comm`, whose rank r becomes rank r of the mesh (row-major: the last axis is
// fastest). The communicator is duplicated; messages on it and on others do not mix with the
// mesh's. MPI must be initialised; with MPI_THREAD_SINGLE or MPI_THREAD_FUNNELED only the calling
// thread may then make calls on the mesh, and with MPI_THREAD_SERIALIZED no thread of the process
// may be in an MPI call of its own while another is in a call of this library.
//
// Throws Error(kInvalidArgument) on all ranks where the axes are wrong for the communicator or the
// ranks disagree on them; Error(kDeadline) where not all ranks come in time; the next attempt with
// the same communicator then goes on waiting for them. A mesh that failed is followed by a new one
// from the same communicator where all ranks live. Destroy meshes before MPI_Finalize.
Mesh mesh_from_mpi(MPI_Comm comm, const std::vector<AxisSize>& axes,
                   const MpiOptions& options = {});

// The mesh of all ranks of this program, whatever started them: what Mesh::from_environment gives
// where `cmm launch` or a user by hand did (rank_environment()), else a mesh over MPI_COMM_WORLD.
// It initialises MPI where that has not been done, at the level MPI_THREAD_SERIALIZED, or with a
// helper thread MPI_THREAD_MULTIPLE, and then finalises it when the process exits.
Mesh mesh_from_environment(const std::vector<AxisSize>& axes, const MpiOptions& options = {});

}  // namespace cmm
