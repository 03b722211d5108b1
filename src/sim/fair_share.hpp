// How links are shared by what crosses them at one moment: max-min fair. All flows get the same
// rate until some link is full; those that cross it keep that rate, the others go on growing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cmm::sim {

struct Crossing {
  int link = 0;
  int weight = 1;  // a flow takes this many times its rate of the link
};

// Flows that cross the same links and so have the same rate.
struct FlowPath {
  std::vector<Crossing> crossings;  // each link once; at least one
  int num_flows = 0;
  double rate = 0;  // bytes per second of each flow
};

class FairShare {
 public:
  explicit FairShare(std::vector<double> bytes_per_second);  // of each link

  // Sets the rates of paths[i] for all i of `active`, which have flows; no other path has any. The
  // rates depend on the numbers of flows on each link alone, not on the order of anything: links
  // that carry the same get bit-equal shares. Time grows with the paths' crossings times the
  // number of different rates.
  void set_rates(std::vector<FlowPath>& paths, std::span<const int> active);

 private:
  struct Load {
    double left = 0;               // bytes per second not given away
    std::int64_t num_flows = 0;    // not yet fixed, weighted
    std::int64_t newly_fixed = 0;  // in this round, weighted
  };
  double least_share() const;
  void fix(FlowPath& path, double share);

  std::vector<double> bytes_per_second_;
  std::vector<Load> loads_;  // by link
  std::vector<int> used_;    // links with flows
  std::vector<int> open_;    // paths not yet fixed
};

}  // namespace cmm::sim
