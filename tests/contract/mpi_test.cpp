// The contract over ranks of MPI, as far as a job of MPI outlives what happens: those of one host,
// and each a host of its own. What ends the job is in mpi_deaths_test.sh.
#include <algorithm>
#include <memory>
#include <string_view>

#include "bodies.hpp"
#include "mpi_world.hpp"

namespace cmm::contract {
namespace {

// The job of three ranks runs what needs three or fewer, a larger one the rest.
int ranks_needed(std::string_view body) {
  if (body == "sixteen_ranks") return 16;
  if (body == "sub_meshes_in_parallel") return 6;
  if (body == "a_failure_stays_in_its_sub_mesh") return 4;
  return 3;
}
bool in_this_job(int num_ranks) {
  return world_size() >= num_ranks && (num_ranks > 3 || world_size() == 3);
}
#define CMM_SKIP_UNLESS_IN_THIS_JOB(num_ranks)                                        \
  if (!in_this_job(num_ranks)) {                                                      \
    GTEST_SKIP() << "for a job of " << (num_ranks) << " ranks, not " << world_size(); \
  }

class ContractOfMpi : public testing::TestWithParam<Hosts> {
 public:
  static std::unique_ptr<World> make_world() { return std::make_unique<MpiWorld>(GetParam()); }
};

TEST_P(ContractOfMpi, AThrowAtEachPoint) {
  CMM_SKIP_UNLESS_IN_THIS_JOB(3);
  at_each_point({.fault = Fault::kThrow}, make_world);
}
TEST_P(ContractOfMpi, ASlowRankAtEachPoint) {
  CMM_SKIP_UNLESS_IN_THIS_JOB(3);
  at_each_point({.fault = Fault::kSlow, .every_victim = false}, make_world);
}
TEST_P(ContractOfMpi, StopAtEachPoint) {
  CMM_SKIP_UNLESS_IN_THIS_JOB(3);
  at_each_point({.fault = Fault::kStop, .deadline = 700ms, .every_victim = false}, make_world);
}
TEST_P(ContractOfMpi, CallsThatDifferFailOnAll) {
  CMM_SKIP_UNLESS_IN_THIS_JOB(3);
  calls_that_differ_fail_on_all(make_world);
}
TEST_P(ContractOfMpi, AbortAtEachPoint) {
  CMM_SKIP_UNLESS_IN_THIS_JOB(3);
  abort_at_each_point(make_world);
}

#define CMM_CONTRACT_TEST(body, ...)                  \
  TEST_P(ContractOfMpi, body) {                       \
    CMM_SKIP_UNLESS_IN_THIS_JOB(ranks_needed(#body)); \
    MpiWorld world(GetParam());                       \
    body(world, ##__VA_ARGS__);                       \
  }
CMM_FOR_EACH_CONTRACT_BODY(CMM_CONTRACT_TEST)
#undef CMM_CONTRACT_TEST

INSTANTIATE_TEST_SUITE_P(Hosts, ContractOfMpi, testing::Values(Hosts::kOne, Hosts::kOneOfEachRank),
                         [](const testing::TestParamInfo<Hosts>& of) {
                           return of.param == Hosts::kOne ? "OneHost" : "EachItsOwnHost";
                         });

}  // namespace
}  // namespace cmm::contract
