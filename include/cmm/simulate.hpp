// What an all-gather matmul costs on ranks that need not be there: the schedule of every rank is
// walked with a clock, over links that are shared by what crosses them. docs/simulation.md says
// what the model knows and what it leaves out. Nothing here is collective.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cmm/plan.hpp"
#include "cmm/timeline.hpp"
#include "cmm/tpu_chip.hpp"

namespace cmm {

// Hosts that hold consecutive ranks, even parts of all, each with one cable to a switch without
// limits. Ranks of one host read each other's rows in place as the library does. The default rates
// are those of one Zen 5 core: bf16 products, and the memory of a small machine.
struct SimulatedHosts {
  int num_hosts = 1;
  Network network = {};
  double rank_flops = 400e9;              // of each rank, a multiply-add counting as two
  double memory_bytes_per_second = 60e9;  // of a host, for all its ranks
};

// Chips of a TPU slice, one rank each, numbered along a ring that is laid into the slice. Axes
// whose length is a multiple of chip.wrap_multiple wrap around.
struct SimulatedSlice {
  tpu::Chip chip;
  std::vector<int> chips;  // along each axis; their product is the number of ranks
  int num_hosts = 1;       // of which hierarchical takes consecutive ranks to be
};

using SimulatedMachine = std::variant<SimulatedHosts, SimulatedSlice>;

struct SimulateOptions {
  // kAuto: on hosts what a plan chooses, on a slice the fastest by this simulation.
  Algorithm algorithm = Algorithm::kAuto;
  int pieces = 0;  // as Options::pieces; 0: decided
  bool timeline = false;
};

// max(multiply, transfer) + first_chunk + last_chunk: what is asked of an overlap. No law of
// nature: where own rows keep a rank busy until the first chunk is there, it can be a little
// faster.
struct SimulatedBound {
  double seconds = 0;
  double multiply_seconds = 0;     // of one rank, all rows at once
  double transfer_seconds = 0;     // every row once into whom it is missing, over all its links
  double first_chunk_seconds = 0;  // the first chunk of another rank, alone on its way
  double last_chunk_seconds = 0;   // one chunk's share of the product
};

struct SimulatedLink {
  std::string name;
  int num_alike = 1;       // links that carry as much at all times, this one among them
  std::int64_t bytes = 0;  // over this one
  double busy = 0;         // share of the time that these bytes take at its full rate
};

// Times are of the rank that ends last; multiply_seconds and the four idle times add up to
// `seconds`.
struct RankSimulation {
  Algorithm algorithm = Algorithm::kDirect;
  int pieces = 1;
  int num_chunks = 0;  // of the whole x
  std::string reason;  // why this algorithm
  double seconds = 0;
  SimulatedBound bound;
  double share_of_bound = 0;  // bound / seconds; not cut off at 1
  double gather_seconds = 0;  // the same gather without a product
  double multiply_seconds = 0;
  double exposed_seconds = 0;        // the sum of
  double idle_transfer_seconds = 0;  // waiting for bytes that are on their way,
  double idle_latency_seconds = 0;   // for a message that has left or must be told of,
  double idle_upstream_seconds = 0;  // for a sender that has not got the chunk itself yet,
  double idle_slot_seconds = 0;      // for a free slot
  int last_rank = 0;
  int num_walked = 0;                // ranks that were walked and stand for all others
  std::vector<SimulatedLink> links;  // that carry anything, the busiest first
  Timeline timeline;                 // where asked for: of the last rank and its neighbours
};

// shape.n_local: the columns of the rank that has most, which all are taken to have. Ranks that do
// the same at the same time are walked once, after that has been proved for the shape; 4096 ranks
// take seconds. Throws Error(kInvalidArgument) on a problem, a machine or options that cannot be
// right, and where so many ranks differ that they cannot all be walked: it says why, and how many
// can; Error(kUnsupported) where a chip does not multiply the dtype.
RankSimulation simulate(const ProblemShape& shape, int num_ranks, const SimulatedMachine& machine,
                        const SimulateOptions& options = {});

}  // namespace cmm
