// How long the kernels take, by a model of the machine: docs/tpu.md says what the model knows and
// where it was checked. All times are in seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cmm/timeline.hpp"
#include "cmm/tpu_kernel.hpp"
#include "cmm/tpu_times.hpp"

namespace cmm::tpu {

struct SimulateOptions {
  KernelOptions kernel;
  // Chips that the ring lies on, as {2, 4}: without wrap-around but where the chip's data says so.
  // Empty: the usual slice of P chips.
  std::vector<int> slice;
  double copy_bytes_per_second = 0;  // most that one copy can draw of HBM; 0: all that is free
  // Candidates that a search tries for the wavefront kernel; 0: the best known parameters.
  int num_candidates = 0;
  std::uint64_t seed = 1;  // of the search
  bool timeline = false;
};

// No schedule can be faster than the slowest of these: of what is asked, not of its padding.
struct Bound {
  double seconds = 0;       // the largest of
  double mxu_seconds = 0;   // all products at the MXUs' peak
  double link_seconds = 0;  // (P - 1) / P of x into a device, both directions at full rate
  double hbm_seconds = 0;   // every operand read once, every result written once
};

// Of one device; all devices of a ring are alike.
struct KernelTimes : DeviceTimes {
  Schedule schedule = Schedule::kWavefront;
  double share_of_bound = 0;  // bound / seconds
  double mxu_share = 0;       // of `seconds`, that products at the MXUs' peak take
  std::int64_t num_semaphores = 0;
  std::int64_t vmem_bytes = 0;
  std::string parameters;
  Timeline timeline;  // of a device and its neighbours, where asked for
};

struct Simulation {
  Bound bound;
  // One for each schedule that can be had, in the order reference, wavefront, sequential. Of one
  // that the problem or the chip does not allow, `..._refused` says why.
  std::vector<KernelTimes> kernels;
  std::string reference_refused;
  std::string wavefront_refused;
  std::string sequential_refused;
  // What was asked for; of kAuto the fastest, of equals the first in the order of Schedule.
  Schedule chosen = Schedule::kWavefront;

  const KernelTimes* find(Schedule schedule) const;  // null: refused
};

// Where a schedule is named that is refused, or all are: Error(kUnsupported) with why.
Simulation simulate(const Problem& problem, const Chip& chip, const SimulateOptions& options = {});

struct TuneOptions {
  std::vector<int> slice;  // as of SimulateOptions
  double copy_bytes_per_second = 0;
  int num_candidates = 20000;
  std::uint64_t seed = 1;
};

// Parameters of the wavefront kernel for one problem.
struct Tuned {
  std::string parameters;  // for KernelOptions
  double seconds = 0;
  double planned_seconds = 0;  // what the planner's rule finds without a search
  Bound bound;
};
// The best that a search of this many candidates finds from the best known plan on; never slower
// than that.
Tuned tune(const Problem& problem, const Chip& chip, const TuneOptions& options = {});

// What searches have found for the layers of some models on each chip, which the wavefront kernel
// takes its parameters from where they beat the planner's rule: data/tpu_tiles.txt, one entry a
// line.
std::string tile_table_text();
// The entry nearest to a problem; there always is one.
std::string nearest_tile_entry(const Problem& problem, const Chip& chip);

struct TileTableOptions {
  int num_candidates = 2000;  // of each entry
  std::uint64_t seed = 1;
};
// Searches all entries anew. `progress` hears of each line as it is found.
std::string make_tile_table(const TileTableOptions& options = {},
                            const std::function<void(std::string_view line)>& progress = {});

// The slice that P chips are taken to be where none is named.
std::vector<int> usual_slice(const Chip& chip, int num_devices);

}  // namespace cmm::tpu
