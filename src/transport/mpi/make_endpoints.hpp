// From a communicator to the ends of a mesh's axes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/memory/axis_line.hpp"
#include "transport/mpi/world.hpp"
#include "transport/transport.hpp"

namespace cmm::transport::mpi {

struct MeshConfig {
  MPI_Comm comm = MPI_COMM_NULL;
  std::string axes;                     // in words, compared between the ranks
  std::vector<memory::AxisLine> lines;  // of this rank, by axis
  std::string wrong = {};    // what this rank finds wrong with its arguments; told to all
  bool with_helper = false;  // needs MPI_THREAD_MULTIPLE
  // For tests.
  std::int64_t max_message_bytes = kMaxMessageBytes;
  int apart = 0;  // ranks with different numbers do not share memory, wherever they are
};

// Collective over the communicator: one end per axis. Throws Error(kDeadline);
// Error(kInvalidArgument) on all ranks where one has wrong arguments or they disagree on the axes.
std::vector<std::shared_ptr<Endpoint>> make_endpoints(const MeshConfig& config,
                                                      const Deadline& deadline);

// Takes this process out of all its meshes, for a reason that lives as long as the program.
void leave_all(const char* reason) noexcept;

}  // namespace cmm::transport::mpi
