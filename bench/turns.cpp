#include "turns.hpp"

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "report.hpp"

namespace cmm::bench {
namespace {

constexpr double kSampleSeconds = 2e-3;

}  // namespace

Seconds take_turns(Meeting& meeting, const std::vector<Version>& versions, const Turns& turns) {
  Seconds seconds;
  for (int round = 0; round < turns.rounds; ++round) {
    std::vector<double> times;  // begin and end of each version
    for (const Version& version : versions) {
      meeting.meet();
      times.push_back(wall_seconds());
      for (int i = 0; i < turns.calls; ++i) version.call();
      times.push_back(wall_seconds());
    }
    const std::vector<std::vector<double>> of_ranks = meeting.gather(times);
    for (std::size_t v = 0; v < versions.size(); ++v) {
      double begin = of_ranks[0][2 * v], end = of_ranks[0][2 * v + 1];
      for (const std::vector<double>& of_rank : of_ranks) {
        begin = std::min(begin, of_rank[2 * v]);
        end = std::max(end, of_rank[2 * v + 1]);
      }
      seconds[versions[v].name].push_back((end - begin) / turns.calls);
    }
  }
  return seconds;
}

int calls_per_sample(double seconds_of_call) {
  return static_cast<int>(std::ceil(kSampleSeconds / seconds_of_call));
}

double median_ratio(const std::vector<double>& over, const std::vector<double>& under) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < over.size(); ++i) ratios.push_back(over[i] / under[i]);
  return median(ratios);
}

}  // namespace cmm::bench
