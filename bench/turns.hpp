// Versions of the same work that take turns, on ranks that measure together.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace cmm::bench {

// How the ranks meet, outside of what is measured. One object per rank; every call is collective.
class Meeting {
 public:
  virtual ~Meeting() = default;
  // Returns once all ranks have come.
  virtual void meet() = 0;
  // Everybody's numbers, by rank; as many on each.
  virtual std::vector<std::vector<double>> gather(const std::vector<double>& mine) = 0;
};

struct Version {
  std::string name;
  std::function<void()> call;  // one call of this rank
};

// Seconds of one call of each version, by round: from the first rank's start to the last rank's
// end, so a rank that the system starts late counts for every version alike. The ranks' clocks must
// be one: those of a machine, whatever namespaces they run in.
using Seconds = std::map<std::string, std::vector<double>>;

// In every round each version runs `calls` calls in a row. The same result on every rank.
struct Turns {
  int rounds = 1;
  int calls = 1;
};
Seconds take_turns(Meeting& meeting, const std::vector<Version>& versions, const Turns& turns);

// Calls of so many seconds that a sample is long enough for the clock and the ranks' start.
int calls_per_sample(double seconds_of_call);

// The median of the rounds' ratios, which may differ from the ratio of the medians.
double median_ratio(const std::vector<double>& over, const std::vector<double>& under);

}  // namespace cmm::bench
