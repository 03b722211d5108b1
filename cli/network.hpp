// How fast the links between the hosts of the ranks are, measured with the gathers that will use
// them; on one host, its shared memory. For ranks that were started together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmm/plan.hpp"
#include "statistics.hpp"
#include "world.hpp"

namespace cmm::cli {

// From one host's first rank to another's, which at the same time sends as much.
struct Link {
  int from = 0;
  int to = 0;
  Spread latency_seconds = {};   // of a gather of one small row each, one after the other
  Spread bytes_per_second = {};  // into `to`
};

struct NetworkMeasurement {
  std::vector<int> hosts;               // of each rank
  std::vector<std::string> host_names;  // by host; may be equal
  std::vector<Link> links;              // each two hosts, both ways; none on one host
  // All ranks at once: bytes from other hosts into the one that takes most, and out of it at the
  // same time. On one host: bytes that all ranks together copy out of their peers' memory.
  Spread bytes_per_second;
  Spread latency_seconds;  // all ranks at once: a gather of one small row each

  bool has_links() const { return !links.empty(); }
  // What Options::network should say: the slowest link's latency, since every round waits for it,
  // and the bandwidth that a host has when all use theirs. Where there are links.
  Network network() const;
};

// Collective over the processes, which all get the result. Some seconds: hosts - 1 rounds of pairs.
// Throws Error(kInvalidArgument) where no two ranks were started.
NetworkMeasurement measure_network(World& world);

// Which host `host` is paired with in a round, so that in num_pair_rounds() rounds every two of
// num_hosts hosts meet once; -1: none.
int num_pair_rounds(int num_hosts);
int pair_partner(int host, int round, int num_hosts);

}  // namespace cmm::cli
