// The contract over ranks that are threads.
#include <memory>

#include "bodies.hpp"
#include "thread_world.hpp"

namespace cmm::contract {
namespace {

std::unique_ptr<World> threads() { return std::make_unique<ThreadWorld>(); }

TEST(ContractOfThreads, AThrowAtEachPoint) { at_each_point({.fault = Fault::kThrow}, threads); }
TEST(ContractOfThreads, ASlowRankAtEachPoint) {
  at_each_point({.fault = Fault::kSlow, .every_victim = false}, threads);
}

TEST(ContractOfThreads, CallsThatDifferFailOnAll) { calls_that_differ_fail_on_all(threads); }
TEST(ContractOfThreads, AbortAtEachPoint) { abort_at_each_point(threads); }

#define CMM_CONTRACT_TEST(body, ...) \
  TEST(ContractOfThreads, body) {    \
    ThreadWorld world;               \
    body(world, ##__VA_ARGS__);      \
  }
CMM_FOR_EACH_CONTRACT_BODY(CMM_CONTRACT_TEST)
#undef CMM_CONTRACT_TEST

}  // namespace
}  // namespace cmm::contract
