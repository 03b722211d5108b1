// How a test of this folder starts ranks: the first processes of the program are the ranks, the
// others wait until those have ended.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <functional>
#include <thread>

#include "transport/mpi/make_endpoints.hpp"

namespace cmm::transport::mpi {

inline constexpr std::chrono::milliseconds kMeshLimit{20'000};

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
inline int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

// All processes of the communicator have come here. Asleep, since others need the cores.
inline void meet_all_of(MPI_Comm comm) {
  MPI_Request request;
  MPI_Ibarrier(comm, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

// Runs body(communicator) on the first `num_ranks` processes; false where there are too few, which
// skips the test.
inline bool run_on_first(int num_ranks, const std::function<void(MPI_Comm)>& body) {
  if (num_ranks > world_size()) return false;
  MPI_Comm comm = MPI_COMM_NULL;
  const bool takes_part = world_rank() < num_ranks;
  MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, world_rank(), &comm);
  if (takes_part) {
    try {
      body(comm);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "rank " << world_rank() << ": " << error.what();
    }
  }
  meet_all_of(MPI_COMM_WORLD);
  if (takes_part) MPI_Comm_free(&comm);
  return true;
}

}  // namespace cmm::transport::mpi
