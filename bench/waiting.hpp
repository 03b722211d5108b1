// What a small gather, and waiting for one, costs.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "cmm/mesh.hpp"
#include "turns.hpp"

namespace cmm::bench {

// Bytes of the whole x whose gather is timed: the activations of a decode step.
inline constexpr std::int64_t kSmallBytes = 16 << 10;

struct Latency {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
};
nlohmann::json to_json(const Latency& latency);

// Seconds of this rank's calls, each timed by itself, back to back as in a decode loop, while rank
// r keeps to core r, as far as there are cores. Collective.
Latency latency(Meeting& meeting, int rank, const std::function<void()>& call);

// Processor seconds per second that this process takes while `call` waits a second for the last
// rank, and while nobody calls anything. Collective; of the last rank the first means nothing.
double waiting_cpu_share(const Axis& axis, Meeting& meeting, const std::function<void()>& call);
double idle_cpu_share(Meeting& meeting);

// All of them for the gather of a plan on axis "tp", whose x lies in memory of the mesh, and beside
// them the latency where it does not, of the barrier, and of that x times one column.
nlohmann::json measure_waiting(const Mesh& mesh, Meeting& meeting);

}  // namespace cmm::bench
