// Hosts with cores, memory and one cable each.
//
//      host 0               host 1               host 2
//   ranks 0 1 2          ranks 3 4 5          ranks 6 7 8
//     memory 0             memory 1             memory 2
//    out 0 | ^ in 0       out 1 | ^ in 1       out 2 | ^ in 2
//          v |                  v |                  v |
//   ------------------- switch without limits ------------------
#pragma once

#include "sim/network.hpp"

namespace cmm::sim {

struct HostMachine {
  int num_ranks = 1;
  int num_hosts = 1;                 // consecutive ranks, even parts: the first hosts have one more
  double link_bytes_per_second = 0;  // of a host, in each direction
  double link_seconds = 0;           // latency of a message between hosts
  double memory_bytes_per_second = 0;  // of a host, reads and writes together
  double look_seconds = 0;             // until a rank sees what another of its host has done
  bool reads_in_place = false;         // rows of the same host, where nobody forwards them
};

class HostNetwork final : public Network {
 public:
  explicit HostNetwork(const HostMachine& machine);

  int num_ranks() const override { return machine_.num_ranks; }
  const std::vector<Link>& links() const override { return links_; }
  void find_route(int from, int to, Route& route) const override;
  double seconds_to_look(int from, int to) const override;
  std::vector<Site> sites() const override;
  int period() const override;

  int host_of(int rank) const { return hosts_[static_cast<std::size_t>(rank)]; }

 private:
  HostMachine machine_;
  std::vector<int> hosts_;   // of each rank
  std::vector<Link> links_;  // [host][out, in, memory]
};

}  // namespace cmm::sim
