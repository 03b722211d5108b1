// A plan: schedule, blocks, transport and checked shapes of one product, made once and used for
// every call of that shape.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmm/dtype.hpp"
#include "cmm/epilogue.hpp"
#include "cmm/isa.hpp"
#include "cmm/mesh.hpp"
#include "cmm/trace.hpp"
#include "cmm/weights.hpp"

namespace cmm {

namespace api {
class PlanState;
}

// How chunks of x travel (docs/schedules.md). kAuto: decided by the plan, with the reason in
// explain().
enum class Algorithm : std::uint8_t {
  kAuto,
  kDirect,
  kRing,
  kBidirectional,
  kRecursiveDoubling,
  kHierarchical
};

std::string_view algorithm_name(Algorithm algorithm);  // "auto", "direct", "ring", ...
Algorithm parse_algorithm(std::string_view name);      // throws Error(kInvalidArgument)

struct ProblemShape {
  std::int64_t m = 0;                   // rows of the gathered x
  std::int64_t k = 0;                   // columns of x, rows of y
  std::vector<std::int64_t> n_local;    // this rank's columns of each right side; may differ
                                        // between ranks
  DType dtype = DType::kF32;            // of x and y
  std::optional<DType> out_dtype = {};  // default: dtype
  std::vector<std::int64_t> rows = {};  // rows of x on each rank, summing to m; empty: m split
                                        // evenly, the first m % P ranks hold one more
};

// The links that join hosts, as the choice of the algorithm sees them; `cmm check --network`
// measures them. The defaults are 10 Gbit/s Ethernet: what TCP leaves of it, and the round of a
// small message.
struct Network {
  double bytes_per_second = 1.17e9;  // into one host, and out of it at the same time
  double latency_seconds = 40e-6;    // of one message
};

// Everything unset is decided by the plan. The ranks must agree on algorithm, pieces, hosts and
// network; the rest is each rank's own.
struct Options {
  Algorithm algorithm = Algorithm::kAuto;
  int pieces = 0;  // chunks per shard (bidirectional: per half shard); 0: the plan decides
  int hosts = 0;   // hierarchical: number of hosts, each holding consecutive ranks; 0: as found
  Network network = {};  // between hosts; of no meaning on one
  int threads = 1;       // threads that multiply for this rank, the caller included
  std::chrono::milliseconds deadline = kDefaultDeadline;  // of each call, from its start; > 0
  std::optional<Isa> isa = {};                            // default: default_isa()
  bool native_bf16 = true;  // false: bf16 products follow the fmaf chain on every machine
  std::vector<Activation> activations = {};  // one per right side; empty: none
  bool swiglu = false;     // two right sides {gate, up}, one output silu(x gate) * (x up)
  Trace* trace = nullptr;  // records spans of every call; must outlive the plan
};

// What a plan would choose for a gather between ranks that need not exist.
struct GatherForecast {
  Algorithm algorithm = Algorithm::kDirect;
  int pieces = 1;
  int num_chunks = 0;           // of the whole x
  int hosts = 1;                // of the ranks
  std::int64_t link_bytes = 0;  // into the host that takes most, from the others
  double link_seconds = 0;      // expected, the links between hosts alone; 0 on one host
  std::string reason;           // why this algorithm
};

// The choice of Plan::make, for whoever designs a cluster or places ranks. `hosts`: the host of
// each rank, numbered from 0 in the order of their first ranks: 0,0,1,1 are four ranks on two
// hosts. Not collective. Throws Error(kInvalidArgument) as Plan::make does.
GatherForecast forecast_gather(const ProblemShape& shape, const Options& options,
                               const std::vector<int>& hosts);

struct Explanation {
  Algorithm algorithm = Algorithm::kDirect;
  int pieces = 1;
  std::string transport;  // "threads", "shared memory", "MPI"
  int hosts = 1;          // as found, or as named in the options
  int num_chunks = 0;     // of the whole x
  Isa isa = Isa::kPortable;
  Engine engine = Engine::kOwn;      // of the last call; before it, what kAuto chooses
  std::string numerics;              // which definition of the result applies
  std::int64_t received_bytes = 0;   // x that this rank reads from peers
  std::int64_t copied_bytes = 0;     // of these, moved through slots; the rest is read in place
  std::int64_t workspace_bytes = 0;  // held by this rank's plan
  double multiply_seconds = 0;       // expected, this rank's product alone
  double gather_seconds = 0;         // expected, the gather alone
  double exposed_seconds = 0;        // expected part of the gather that is not hidden
  double expected_seconds = 0;
  std::string reason;  // why this algorithm

  std::string to_string() const;  // for people
};

// One rank's handle on a plan. Copies share it. A plan runs one call at a time.
class Plan {
 public:
  // Collective over the axis. Either every rank gets a plan or every rank gets the same
  // Error(kInvalidArgument) that names what is wrong or on what they disagree (m, k, dtype, rows,
  // number of right sides, algorithm, pieces, hosts, network), or Error(kOutOfMemory) or
  // Error(kUnsupported) naming a rank that has no room for it; the mesh stays usable. Allocates
  // everything a call needs. A plan serves any m up to its own; with explicit rows, exactly its
  // own.
  static Plan make(const Axis& axis, const ProblemShape& shape, const Options& options = {});
  // In place of make(), on a rank whose arguments do not even make a shape and options, as words of
  // a configuration that name no algorithm. Always throws: with the reason, on every rank, what
  // make() throws where a shape is wrong.
  [[noreturn]] static void refuse(const Axis& axis, const std::string& reason,
                                  std::chrono::milliseconds deadline = kDefaultDeadline);

  const ProblemShape& shape() const;
  const Options& options() const;
  int rank() const;
  int num_ranks() const;
  // Rows of x that `rank` holds when the whole x has m rows: m <= shape().m, and equal to it where
  // the plan has explicit rows.
  std::int64_t rows_of(int rank, std::int64_t m) const;
  Algorithm algorithm() const;  // never kAuto: what it has decided

  // Not collective. The first explanation in a process of an instruction set and dtype measures
  // the machine (measure_machine), so it takes most of a second.
  Explanation explain() const;

  // Who sends which chunk to whom in which step, as text. Throws Error(kInvalidArgument) for more
  // than 8 ranks, for which there is no room.
  std::string picture() const;

  // For the library itself.
  api::PlanState& state() const;  // throws Error(kInvalidArgument) where the plan was moved from

 private:
  explicit Plan(std::shared_ptr<api::PlanState> state) : state_(std::move(state)) {}
  std::shared_ptr<api::PlanState> state_;
};

}  // namespace cmm
