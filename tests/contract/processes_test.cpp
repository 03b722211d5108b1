// The contract over ranks that are processes of this host.
#include <memory>

#include "bodies.hpp"
#include "process_world.hpp"

namespace cmm::contract {
namespace {

std::unique_ptr<World> processes() { return std::make_unique<ProcessWorld>(); }

TEST(ContractOfProcesses, AThrowAtEachPoint) { at_each_point({.fault = Fault::kThrow}, processes); }
TEST(ContractOfProcesses, ASlowRankAtEachPoint) {
  at_each_point({.fault = Fault::kSlow, .every_victim = false}, processes);
}
TEST(ContractOfProcesses, KillAtEachPoint) { at_each_point({.fault = Fault::kKill}, processes); }
TEST(ContractOfProcesses, ExitAtEachPoint) { at_each_point({.fault = Fault::kExit}, processes); }
TEST(ContractOfProcesses, StopAtEachPoint) {
  at_each_point({.fault = Fault::kStop, .deadline = 700ms, .every_victim = false}, processes);
}

TEST(ContractOfProcesses, CallsThatDifferFailOnAll) { calls_that_differ_fail_on_all(processes); }
TEST(ContractOfProcesses, AbortAtEachPoint) { abort_at_each_point(processes); }

#define CMM_CONTRACT_TEST(body, ...) \
  TEST(ContractOfProcesses, body) {  \
    ProcessWorld world;              \
    body(world, ##__VA_ARGS__);      \
  }
CMM_FOR_EACH_CONTRACT_BODY(CMM_CONTRACT_TEST)
#undef CMM_CONTRACT_TEST

}  // namespace
}  // namespace cmm::contract
