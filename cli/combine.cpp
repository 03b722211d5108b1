#include "combine.hpp"

#include <algorithm>
#include <numeric>

#include "text.hpp"

namespace cmm::cli {

std::uint64_t sum_over_processes(World& world, std::uint64_t mine) {
  const std::vector<std::uint64_t> all = joined_values(world, std::vector<std::uint64_t>{mine});
  return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
}

double max_over_processes(World& world, double mine) {
  const std::vector<double> all = joined_values(world, std::vector<double>{mine});
  return *std::max_element(all.begin(), all.end());
}

Comparison over_processes(World& world, const Comparison& mine) {
  struct Counts {
    std::int64_t num_elements;
    std::int64_t mismatches;
  };
  const std::vector<Counts> counts =
      joined_values(world, std::vector<Counts>{{mine.num_elements, mine.mismatches}});
  const std::vector<std::string> firsts = world.gather(mine.first_mismatch);
  Comparison all;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    all.add({counts[i].num_elements, counts[i].mismatches, firsts[i]});
  }
  return all;
}

}  // namespace cmm::cli
