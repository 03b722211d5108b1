// The timings of a problem, its parts and its baselines, all from one run.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "problem.hpp"
#include "statistics.hpp"
#include "world.hpp"

namespace cmm::cli {

struct MeasureOptions {
  std::optional<int> repeats;  // unset: about two seconds' worth, 5 to 200
  // Packed copies of the weights used in turn; 1 leaves small weights in cache between calls.
  int num_copies = 1;
  std::function<void(int done, int of)> progress = {};  // called by rank 0's thread
};

// Each duration is from the first rank's start to the last rank's end; where the ranks' machines
// have no clock in common, the longest of the ranks' own after all have met. The measurements take
// turns within each repeat, so that drift of the machine meets all alike.
struct Measurement {
  int repeats = 0;
  Spread fused;    // all_gather_matmul
  Spread gemm;     // every rank's product at the same time, x gathered already, not split
  Spread gather;   // all_gather with the plan's algorithm
  Spread barrier;  // all ranks meet
  // The sequential versions, complete: the fastest all_gather (direct), then the product; and,
  // where one process holds all ranks, a barrier, the product that reads the peers' rows in place,
  // a barrier.
  Spread gather_then_gemm;
  std::optional<Spread> in_place_then_gemm;

  Explanation plan;  // rank 0's
  Engine engine = Engine::kOwn;

  double sequential_seconds() const;  // the better one's median
  // The least time: max(gemm, transfer) + first chunk + last chunk (docs/performance.md). Where x
  // is read in place nothing is transferred: transfer and last chunk are 0, and the first chunk is
  // the barrier, after which all rows may be read. Else transfer is the gather, the first chunk
  // its share of one remote chunk, the last chunk the product's share of one chunk.
  bool in_place = true;
  double first_chunk_seconds = 0;
  double last_chunk_seconds = 0;
  double bound_seconds() const;
  // Of the shorter of gemm and gather; without meaning where x is read in place.
  double hidden_share() const;
};

// Fills `data` and measures. On return its outputs are those of a last, unmeasured call of the
// measured plan into poisoned memory. Collective over the processes, which all get the result;
// `plan` and `engine` are those of the lowest rank of each.
Measurement measure(World& world, ProblemData& data, const MeasureOptions& options);

// One call of all ranks, made with a plan of its own so that recording burdens no measurement.
struct Recording {
  std::vector<Span> spans;  // by the clock of this process's machine
  std::int64_t num_dropped = 0;
};
// `data` has been measured. Collective over the processes; each keeps up to `capacity` spans.
Recording record_call(World& world, ProblemData& data, std::int64_t capacity);

// Memory that measuring needs on top of problem_bytes(): each rank's gathered x; saturates.
std::int64_t measure_bytes(const Problem& problem, const MeasureOptions& options);

}  // namespace cmm::cli
