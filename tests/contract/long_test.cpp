// The contract at length: what takes minutes.
#include "bodies.hpp"
#include "meeting_faults.hpp"
#include "process_world.hpp"
#include "thread_world.hpp"

namespace cmm::contract {
namespace {

std::unique_ptr<World> processes() { return std::make_unique<ProcessWorld>(); }

const std::vector<Algorithm> kAlgorithms = {
    Algorithm::kDirect, Algorithm::kRing, Algorithm::kBidirectional, Algorithm::kRecursiveDoubling};

TEST(ContractAtLength, StopAtEachPoint) {
  at_each_point({.fault = Fault::kStop, .algorithms = kAlgorithms, .deadline = 1000ms}, processes);
}
TEST(ContractAtLength, KillAtEachPointOfFiveRanks) {
  at_each_point({.fault = Fault::kKill, .num_ranks = 5, .algorithms = kAlgorithms}, processes);
}
TEST(ContractAtLength, KillAtEachSystemCall) { at_each_call(Mishap::kKill); }
TEST(ContractAtLength, ExitAtEachSystemCall) { at_each_call(Mishap::kExit); }
TEST(ContractAtLength, StopAtEachSystemCall) { at_each_call(Mishap::kStop); }
TEST(ContractAtLength, SlowAtEachSystemCall) { at_each_call(Mishap::kSlow); }
TEST(ContractAtLength, MeshesOfThreadsComeAndGo) {
  ThreadWorld world;
  meshes_come_and_go(world, 10'000);
}
TEST(ContractAtLength, PlansOfThreadsComeAndGo) {
  ThreadWorld world;
  plans_come_and_go(world, 10'000);
}
TEST(ContractAtLength, MeshesOfProcessesComeAndGo) {
  ProcessWorld world;
  meshes_come_and_go(world, 10'000);
}
TEST(ContractAtLength, PlansOfProcessesComeAndGo) {
  ProcessWorld world;
  plans_come_and_go(world, 10'000);
}

}  // namespace
}  // namespace cmm::contract
