// What the public description of a machine means to the walk of all ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cmm/simulate.hpp"
#include "schedule/schedule.hpp"
#include "sim/network.hpp"
#include "sim/rank_walk.hpp"

namespace cmm::api {

struct SimulatedRanks {
  std::string name;  // "64 ranks on 8 hosts", "8 x v6e (2x4)"
  std::unique_ptr<sim::Network> network;
  int num_hosts = 1;  // for the schedule of hierarchical
  sim::MultiplySeconds multiply_seconds;
  std::int64_t wave_rows = 0;
  std::int64_t gather_first_rows = 0;  // up to so many rows a rank gathers first
  int max_in_flight = 0;
};

// Throws as cmm::simulate().
SimulatedRanks simulated_ranks(const ProblemShape& shape, int num_ranks,
                               const SimulatedHosts& hosts);
SimulatedRanks simulated_ranks(const ProblemShape& shape, int num_ranks,
                               const SimulatedSlice& slice);

}  // namespace cmm::api
