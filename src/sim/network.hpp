// The links between ranks, as the walk of all ranks meets them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cmm::sim {

// One direction of a cable, or the memory of a host.
struct Link {
  std::string name;  // "out of host 3"
  double bytes_per_second = 0;
};

// The way from one rank to another.
struct Route {
  // Crossed by every byte, an entry for each crossing: a copy within a host reads and writes its
  // memory, which is two. Empty: bytes take no time, as where rows are read in place.
  std::vector<int> links;
  double latency_seconds = 0;  // from the last byte's departure to its arrival
};

// Ranks that share the links by which everything of other ranks must come to them.
struct Site {
  int first_rank = 0;
  int num_ranks = 0;
  double bytes_per_second_in = 0;
};

class Network {
 public:
  virtual ~Network() = default;

  virtual int num_ranks() const = 0;
  virtual const std::vector<Link>& links() const = 0;
  // Overwrites `route`, whose memory is used again. from != to.
  virtual void find_route(int from, int to, Route& route) const = 0;
  // Where rows of `from` that nobody forwards are multiplied without a copy; then the seconds until
  // `to` sees that they are there, else a negative number.
  virtual double seconds_to_look(int from, int to) const = 0;
  // No schedule can gather faster than these let in. None where every rank reaches all rows.
  virtual std::vector<Site> sites() const = 0;
  // The number of ranks by which all may be turned without a change of the network, to be proved
  // by find_symmetry(); num_ranks() where there is none.
  virtual int period() const = 0;
};

}  // namespace cmm::sim
