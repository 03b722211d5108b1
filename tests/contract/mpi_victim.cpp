// Ranks of MPI that call until rank 1 dies, for mpi_deaths_test.sh:
//
//     contract_mpi_victim (kill|exit) POINT (one-host|own-hosts) ANYTHING
//
// POINT: that of exec::Point, or -1: before its mesh is made. A rank that gets an error says it and
// ends with 1, as a program of a user's would.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "faults.hpp"
#include "mpi_world.hpp"

namespace cmm::contract {
namespace {

void call_until_rank_one_dies(const Scenario& s, MpiWorld& world, int rank) {
  Victim trap(s, world);
  if (rank == s.victim && static_cast<int>(s.point) < 0) befall(s.fault);
  const Mesh mesh = world.mesh(0, rank, s.num_ranks);
  const Axis axis = mesh.axis("tp");
  test::RankData data(small_problem(), axis);
  const Plan plan = Plan::make(axis, data.shape(),
                               {.algorithm = s.algorithm, .pieces = 2, .deadline = s.deadline});
  data.call(plan);
  if (rank == s.victim) trap.attach(plan);
  for (;;) data.call(plan);
}

}  // namespace
}  // namespace cmm::contract

int main(int argc, char** argv) {
  using namespace cmm::contract;
  if (argc < 4) return 2;
  const Scenario scenario = {
      .fault = std::string_view(argv[1]) == "kill" ? Fault::kKill : Fault::kExit,
      .point = static_cast<cmm::exec::Point>(std::atoi(argv[2])),
      .victim = 1,
      .algorithm = cmm::Algorithm::kRing};
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  try {
    MpiWorld world(std::string_view(argv[3]) == "one-host" ? Hosts::kOne : Hosts::kOneOfEachRank);
    call_until_rank_one_dies(scenario, world, world_rank());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", world_rank(), error.what());
  }
  return 1;
}
