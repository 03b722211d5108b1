// Runs a program on virtual devices that are nastier than real ones: copies progress in random
// pieces, at once, or only when somebody waits; devices are interleaved at random, or one of them
// is late; scratch and outputs are poisoned; every access is checked against all others it is not
// ordered after.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tpu/program.hpp"

namespace cmm::tpu {

// Elements in row-major order, as they lie in memory.
using Array = std::vector<std::byte>;

enum class CopyMode : std::uint8_t {
  kEager,    // a copy is complete when it has been started
  kAtAwait,  // nothing moves until somebody waits: a wait for the departure lets the source be
             // read, a wait for the arrival the target be written
  kRandom,   // in random pieces at random times
};

// The first waits of a call for a semaphore, on every device; counted through all arrays.
struct FirstWaits {
  int semaphore = 0;
  int num_waits = 0;
};

struct RunOptions {
  std::uint64_t seed = 1;
  CopyMode copies = CopyMode::kRandom;
  int late_device = -1;  // runs only when no other device can; -1: none
  int num_calls = 1;     // back to back, without anything between them that orders devices
  bool check_races = true;
  bool check_tiles = true;                  // offsets and sizes against the tiles of the chip
  bool arithmetic = true;                   // false: loads and stores are checked and move nothing
  std::int64_t max_steps = 0;               // statements of all devices; 0: as many as it takes
  std::vector<FirstWaits> distrusted = {};  // are taken to prove nothing
};

struct Fault {
  enum class Kind : std::uint8_t {
    kDeadlock,
    kRace,
    kOutOfBounds,
    kMisaligned,
    kSemaphoreNotZero,
    kWrongElement,
    kTwoWriters,
    kNotWritten,
    kNoEnd,  // more than RunOptions::max_steps
    kInvalid,
  };
  Kind kind = Kind::kInvalid;
  int device = -1;
  std::string text;  // with the notes of the statements concerned; of a deadlock a table
};
std::string_view fault_name(Fault::Kind kind);  // "deadlock", "race", ...

struct RunResult {
  std::optional<Fault> fault;  // the first
  // By device, by output buffer in the order of Program::buffers; of the last call.
  std::vector<std::vector<Array>> outputs;
  std::vector<std::string> printed;  // by DebugPrint
  // Where another run might differ: the first thing that could come earlier than here and let a
  // wait prove less. Empty: in every run, however devices and copies are interleaved, what happens
  // is ordered as here (docs/tpu.md, "One run for all"). Only where races are checked. And the
  // waits that are concerned.
  std::string may_differ;
  std::vector<FirstWaits> uncertain;
  std::int64_t num_statements = 0;
  std::int64_t local_bytes = 0;  // moved by copies, of all devices
  std::int64_t remote_bytes = 0;
};

// inputs[device][i]: the i-th input buffer. Throws Error(kInvalidArgument) where inputs do not fit
// the program; a fault of the program is a result.
RunResult run(const Program& program, const Chip& chip,
              const std::vector<std::vector<Array>>& inputs, const RunOptions& options);

// Whether no run of the program can show a fault and all have the same results: a run with these
// options, among them check_races, shows none and says that no other may differ. What waits prove
// that may differ is tried to do without: those waits are distrusted, and it is run again.
bool has_one_order(const Program& program, const Chip& chip,
                   const std::vector<std::vector<Array>>& inputs, RunOptions options);

}  // namespace cmm::tpu
