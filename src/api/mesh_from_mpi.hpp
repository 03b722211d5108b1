// From axes to what the MPI transport makes a mesh of.
#pragma once

#include <vector>

#include "cmm/mesh.hpp"
#include "transport/mpi/make_endpoints.hpp"

namespace cmm::api {

// What is wrong with the axes is said in the result: all ranks must hear of it. MPI runs.
transport::mpi::MeshConfig mesh_config(MPI_Comm comm, const std::vector<AxisSize>& axes);

}  // namespace cmm::api
