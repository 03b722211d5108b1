// All small faults of a kernel, one at a time: does the verifier see each?
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tpu/verify.hpp"

namespace cmm::tpu {

enum class MutantKind {
  kDropStart,   // a copy is not started
  kDropAwait,   // a wait is left out; of a remote copy the wait for its departure, or its arrival
  kDropSignal,  // a signal is not sent
  kDropRound,   // all signals and waits of one semaphore are left out
  kDropStore,   // a vector is not stored
  kNeighbour,   // forward instead of backward and the other way round, in one statement or in all
  kSlot,        // another slot of a buffer
  kFewerSlots,  // a buffer with one slot less, used in turn
  kSemaphore,   // another semaphore of an array
  kOffset,      // one tile further, the last one back at the first
  kAmount,      // one more or less: signals, or a tile's bytes of a copy
  kOrder,       // a wait after the start, or the product, before which it stands
  kTableDrop,   // -1 instead of an entry of the table: no such action
  kTableEntry,  // an entry of the table one more or one less, within its range
};
std::string_view kind_name(MutantKind kind);  // "drop start", ...

// What of a kernel a mutant changes: -1 and nothing where that is not what it is about.
struct MutantTarget {
  int statement = -1;  // in the order they are written
  // Of a kOrder: what is started, unless vectors are worked with, too; and the waits before it.
  std::vector<int> starts = {};
  std::vector<int> waits = {};
  // Arrays whose rounds are left out; of a kOrder, those that the waits wait for.
  std::vector<int> semaphores = {};
  int buffer = -1;  // that has fewer slots
  int word = -1;    // of the table
};

struct Mutant {
  MutantKind kind = MutantKind::kDropStart;
  // What is changed, and how, the same in every run: "copy x -> x slots (first load), statement 31:
  // slot + 1 in dimension 0 of the target".
  std::string name;
  MutantTarget target = {};
  std::function<Kernel()> make;
};

// Of the statements of the program that are run, and of the entries of the table where there is
// one. A change that is none is left out: another slot of one, other neighbours in a ring of two.
std::vector<Mutant> mutants(const Kernel& kernel, const Chip& chip);

// The rule that says why a mutant of this kernel changes nothing that anyone could see, or "".
// docs/tpu.md argues each rule. It explains what Verdict::proved proves.
std::string why_equivalent(const Kernel& kernel, const Mutant& mutant);

struct MutantVerdict {
  std::string name;
  MutantKind kind = MutantKind::kDropStart;
  bool caught = false;
  Fault::Kind fault = Fault::Kind::kInvalid;  // where it was caught; and its text, and the run
  std::string cause;
  RunOptions run;
  int num_runs = 0;        // 0: caught without one
  std::string equivalent;  // where it is proved right: why_equivalent(), or that it is proved
  bool missed() const { return !caught && equivalent.empty(); }
};

// `progress` hears of each as it is done, with how many there are.
std::vector<MutantVerdict> try_mutants(const Kernel& kernel, const Chip& chip,
                                       const VerifyOptions& options,
                                       const std::function<void(int done, int all)>& progress = {});

}  // namespace cmm::tpu
