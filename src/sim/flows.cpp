#include "sim/flows.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"

namespace cmm::sim {

int Flows::path(const std::vector<Crossing>& crossings) {
  std::vector<std::pair<int, int>> key;
  for (const Crossing& crossing : crossings) key.emplace_back(crossing.link, crossing.weight);
  const auto [place, is_new] = path_numbers_.try_emplace(key, static_cast<int>(paths_.size()));
  if (is_new) {
    paths_.push_back({crossings, 0, 0});
    newest_.emplace_back();
  }
  return place->second;
}

void Flows::start(int flow, int path, double bytes) {
  CMM_DCHECK(bytes > 0);
  if (paths_[path].num_flows++ == 0) active_.push_back(path);
  rates_are_set_ = false;
  Path& newest = newest_[path];
  if (newest.moment != moment_ || cohorts_[newest.cohort].bytes != bytes) {
    newest = {moment_, cohorts_.size()};
    cohorts_.push_back({path, bytes, bytes, 0, {}});
  }
  cohorts_[newest.cohort].flows.push_back(flow);
}

double Flows::settle(double now) {
  if (!rates_are_set_) share_.set_rates(paths_, active_);
  rates_are_set_ = true;
  double next = std::numeric_limits<double>::infinity();
  for (Cohort& cohort : cohorts_) {
    cohort.end_seconds = now + cohort.bytes_left / paths_[cohort.path].rate;
    next = std::min(next, cohort.end_seconds);
  }
  return next;
}

void Flows::move(double now, double then, std::vector<int>& ended) {
  ++moment_;
  std::size_t num_left = 0;
  for (Cohort& cohort : cohorts_) {
    FlowPath& path = paths_[cohort.path];
    cohort.bytes_left -= path.rate * (then - now);
    if (cohort.end_seconds > then && cohort.bytes_left > 0) {
      if (&cohorts_[num_left] != &cohort) cohorts_[num_left] = std::move(cohort);
      ++num_left;
      continue;
    }
    ended.insert(ended.end(), cohort.flows.begin(), cohort.flows.end());
    path.num_flows -= static_cast<int>(cohort.flows.size());
    rates_are_set_ = false;
  }
  cohorts_.resize(num_left);
  std::erase_if(active_, [&](int path) { return paths_[path].num_flows == 0; });
}

}  // namespace cmm::sim
