// Bytes in flight over shared links, as time goes on.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/fair_share.hpp"

namespace cmm::sim {

// A flow is known by the number that it was started with.
class Flows {
 public:
  explicit Flows(std::vector<double> bytes_per_second) : share_(std::move(bytes_per_second)) {}

  // The path over these links; the same for the same links.
  int path(const std::vector<Crossing>& crossings);
  const std::vector<Crossing>& crossings(int path) const { return paths_[path].crossings; }

  void start(int flow, int path, double bytes);

  // Once all flows of a moment are started: sets the rates; when the next flow ends at them.
  // Infinity where nothing is in flight.
  double settle(double now);
  // Moves all bytes from `now` to `then`, no later than settle() said. Appends the flows that end
  // there.
  void move(double now, double then, std::vector<int>& ended);

 private:
  // Flows that were started at one moment on one path with as many bytes: they stay alike.
  struct Cohort {
    int path = 0;
    double bytes = 0;  // of each, at the start
    double bytes_left = 0;
    double end_seconds = 0;  // at the present rate
    std::vector<int> flows;
  };
  struct Path {
    std::int64_t moment = -1;  // of the newest cohort
    std::size_t cohort = 0;
  };

  FairShare share_;
  std::map<std::vector<std::pair<int, int>>, int> path_numbers_;
  std::vector<FlowPath> paths_;
  std::vector<Path> newest_;  // by path
  std::vector<Cohort> cohorts_;
  std::vector<int> active_;  // paths with flows
  std::int64_t moment_ = 0;  // moves so far
  bool rates_are_set_ = true;
};

}  // namespace cmm::sim
