// From the seconds of a problem's versions to the figures of docs/performance.md.
//
// Names of versions: "fused"; "product", all ranks' at the same time with x at hand; gathers, whose
// names begin with "all_gather" and the fastest of which counts; "barrier". What else there is gets
// its time over the fused operation's.
#pragma once

#include <nlohmann/json.hpp>

#include "cmm/machine.hpp"
#include "cmm/plan.hpp"
#include "problems.hpp"
#include "turns.hpp"

namespace cmm::bench {

struct Outcome {
  const Case& problem;
  const Seconds& seconds;
  Explanation plan;
  Machine machine;
  int num_hosts = 1;
};
nlohmann::json figures(const Outcome& outcome);

// A line of figures(), under a head that names the columns and gives the yardsticks.
void print_head(const Case& c, const Machine& machine);
void print_figures(const nlohmann::json& row);

}  // namespace cmm::bench
