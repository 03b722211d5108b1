#include "sim/host_network.hpp"

#include "base/integers.hpp"
#include "base/text.hpp"

namespace cmm::sim {
namespace {

int out_of(int host) { return 3 * host; }
int into(int host) { return 3 * host + 1; }
int memory_of(int host) { return 3 * host + 2; }

}  // namespace

HostNetwork::HostNetwork(const HostMachine& machine) : machine_(machine) {
  for (int host = 0; host < machine.num_hosts; ++host) {
    const Range ranks = even_part(machine.num_ranks, machine.num_hosts, host);
    hosts_.resize(static_cast<std::size_t>(ranks.end), host);
    links_.push_back({cat("out of host ", host), machine.link_bytes_per_second});
    links_.push_back({cat("into host ", host), machine.link_bytes_per_second});
    links_.push_back({cat("memory of host ", host), machine.memory_bytes_per_second});
  }
}

void HostNetwork::find_route(int from, int to, Route& route) const {
  const int a = host_of(from), b = host_of(to);
  if (a == b) {
    route.links.assign({memory_of(a), memory_of(a)});
    route.latency_seconds = machine_.look_seconds;
  } else {
    route.links.assign({out_of(a), into(b)});
    route.latency_seconds = machine_.link_seconds;
  }
}

double HostNetwork::seconds_to_look(int from, int to) const {
  return machine_.reads_in_place && host_of(from) == host_of(to) ? machine_.look_seconds : -1;
}

std::vector<Site> HostNetwork::sites() const {
  std::vector<Site> sites;
  if (machine_.num_hosts == 1) return sites;
  for (int host = 0; host < machine_.num_hosts; ++host) {
    const Range ranks = even_part(machine_.num_ranks, machine_.num_hosts, host);
    sites.push_back({static_cast<int>(ranks.begin), static_cast<int>(ranks.size()),
                     machine_.link_bytes_per_second});
  }
  return sites;
}

// Hosts of equal size may be turned; ranks of a single host as well, since they share all of it.
int HostNetwork::period() const {
  if (machine_.num_hosts == 1) return 1;
  return machine_.num_ranks % machine_.num_hosts == 0 ? machine_.num_ranks / machine_.num_hosts
                                                      : machine_.num_ranks;
}

}  // namespace cmm::sim
