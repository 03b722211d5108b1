#include "sim/fair_share.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.hpp"

namespace cmm::sim {

FairShare::FairShare(std::vector<double> bytes_per_second)
    : bytes_per_second_(std::move(bytes_per_second)), loads_(bytes_per_second_.size()) {}

double FairShare::least_share() const {
  double least = std::numeric_limits<double>::infinity();
  for (const int link : used_) {
    const Load& load = loads_[link];
    if (load.num_flows > 0)
      least = std::min(least, load.left / static_cast<double>(load.num_flows));
  }
  return least;
}

void FairShare::fix(FlowPath& path, double share) {
  path.rate = share;
  for (const Crossing& crossing : path.crossings)
    loads_[crossing.link].newly_fixed += std::int64_t{crossing.weight} * path.num_flows;
}

void FairShare::set_rates(std::vector<FlowPath>& paths, std::span<const int> active) {
  for (const int link : used_) loads_[link] = {};
  used_.clear();
  for (const int path : active)
    for (const Crossing& crossing : paths[path].crossings) {
      Load& load = loads_[crossing.link];
      if (load.num_flows == 0) {
        used_.push_back(crossing.link);
        load.left = bytes_per_second_[crossing.link];
      }
      load.num_flows += std::int64_t{crossing.weight} * paths[path].num_flows;
    }
  open_.assign(active.begin(), active.end());
  // Each round fills the links with the least share; those that cross them are then settled.
  while (!open_.empty()) {
    const double share = least_share();
    CMM_DCHECK(share < std::numeric_limits<double>::infinity());
    const auto is_full = [&](const Crossing& crossing) {
      const Load& load = loads_[crossing.link];
      return load.left / static_cast<double>(load.num_flows) == share;
    };
    std::size_t num_left = 0;
    for (const int path : open_) {
      if (std::ranges::any_of(paths[path].crossings, is_full))
        fix(paths[path], share);
      else
        open_[num_left++] = path;
    }
    open_.resize(num_left);
    for (const int link : used_) {
      Load& load = loads_[link];
      load.left -= share * static_cast<double>(load.newly_fixed);
      load.num_flows -= load.newly_fixed;
      load.newly_fixed = 0;
    }
  }
}

}  // namespace cmm::sim
