// The conformance body over MPI, with the ranks taken for those of one host, of hosts with two
// each, and of hosts with one each.
#include "../conformance.hpp"

#include <gtest/gtest.h>

#include "api/mesh_from_mpi.hpp"
#include "run_ranks.hpp"

namespace cmm::transport {
namespace {

// How the processes are told apart.
enum class Hosts { kOne, kTwo, kEachItsOwn };

conformance::RunRanks on(Hosts hosts) {
  return [hosts](int num_ranks, const conformance::Body& body) {
    const bool enough = mpi::run_on_first(num_ranks, [&](MPI_Comm comm) {
      mpi::MeshConfig config = api::mesh_config(comm, {{"ranks", num_ranks}});
      const int rank = config.lines[0].rank;
      config.apart = hosts == Hosts::kOne ? 0 : hosts == Hosts::kTwo ? rank / 2 : rank;
      const auto endpoints = mpi::make_endpoints(config, Deadline(mpi::kMeshLimit));
      body(*endpoints[0]);
    });
    if (!enough) GTEST_SKIP() << "needs " << num_ranks << " ranks";
  };
}

#define CMM_CONFORMANCE_TEST(body)                                \
  TEST(MpiOneHost, body) { conformance::body(on(Hosts::kOne)); }  \
  TEST(MpiTwoHosts, body) { conformance::body(on(Hosts::kTwo)); } \
  TEST(MpiEachItsOwnHost, body) { conformance::body(on(Hosts::kEachItsOwn)); }
CMM_FOR_EACH_CONFORMANCE_TEST(CMM_CONFORMANCE_TEST)
#undef CMM_CONFORMANCE_TEST

}  // namespace
}  // namespace cmm::transport
