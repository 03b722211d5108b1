// How long a gather over several hosts takes, from what crosses the links of the hosts. No clock
// and no transport: every rank computes the same, which is how they come to the same plan.
//
//   seconds = rounds * latency + bytes into the busiest host / bandwidth
//
// Rounds are messages that must follow each other. Bytes within a host are left out: they are read
// in place, or copied at memory's speed.
#pragma once

#include <cstdint>
#include <vector>

#include "cmm/plan.hpp"
#include "schedule/schedule.hpp"

namespace cmm::api {

struct GatherCost {
  int rounds = 0;
  std::int64_t shards_into_host = 0;  // of the host that takes most, from all others
  double seconds(const Network& network, std::int64_t shard_bytes) const {
    return rounds * network.latency_seconds +
           static_cast<double>(shards_into_host * shard_bytes) / network.bytes_per_second;
  }
};

// `hosts`: that of each rank. O(P log P). hierarchical: where hosts_are_even_and_consecutive().
GatherCost gather_cost(schedule::Algorithm algorithm, const std::vector<int>& hosts);

int num_hosts(const std::vector<int>& hosts);
// As the schedule of hierarchical has them: consecutive ranks, even parts of all.
bool hosts_are_even_and_consecutive(const std::vector<int>& hosts);

}  // namespace cmm::api
