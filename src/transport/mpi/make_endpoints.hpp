// From a communicator to the ends of a mesh's axes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/mpi/world.hpp"
#include "transport/transport.hpp"

namespace cmm::transport::mpi {

// Where this rank lies on one axis.
struct AxisLine {
  std::vector<int> members;  // ranks of the mesh, by rank on the axis
  int rank = 0;              // on the axis
  int number = 0;            // among all lines along this axis, 0 .. number of ranks / size - 1
};
struct MeshConfig {
  MPI_Comm comm = MPI_COMM_NULL;
  std::string axes;             // in words, compared between the ranks
  std::vector<AxisLine> lines;  // by axis
  std::string wrong = {};       // what this rank finds wrong with its arguments; told to all
  bool with_helper = false;     // needs MPI_THREAD_MULTIPLE
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
