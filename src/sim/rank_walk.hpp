// Walks the schedules of all ranks with a clock.
//
// Receives are asked for in the order of the schedule, each once its slot is free, as the executor
// does. What was asked for and has reached the sender moves: one chunk after the other from one
// rank to one other, all such streams sharing the links they cross max-min fairly. A chunk arrives
// a latency after its last byte has left; a sender learns that a used slot is free as much later. A
// rank that is not multiplying takes what has arrived, in the order of arrival.
//
// Where ranks may stand for all others (symmetry.hpp) only those are walked. Loads of links are
// counted in whole flows, and what happens at one moment is taken together, so that both walks
// compute bit-equal times.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "schedule/partition.hpp"
#include "schedule/schedule.hpp"
#include "sim/network.hpp"
#include "sim/symmetry.hpp"

namespace cmm::sim {

// A rank multiplies `rows` rows of x with all of its y at once; `first`: for the first time in the
// call, so that y must be read where it then stays in fast memory.
using MultiplySeconds = std::function<double(std::int64_t rows, bool first)>;

struct RankWork {
  schedule::Shape shape;
  const schedule::Partition* partition = nullptr;
  std::int64_t row_bytes = 0;  // of x
  MultiplySeconds multiply_seconds;
  std::int64_t wave_rows = 0;  // multiplied together at most; one chunk where it has more
  // Multiplies once, when all of x is there. The shape then has received_chunks() slots.
  bool gathers_first = false;
  int max_in_flight = 0;  // receives of one rank that are asked for and not yet sent; 0: no limit
};

enum class Idle { kTransfer, kLatency, kUpstream, kSlot };
inline constexpr int kNumIdles = 4;
std::string_view idle_name(Idle idle);

// A transfer or a product, for a timeline.
struct WalkedTransfer {
  schedule::Transfer transfer;
  double begin_seconds = 0;  // of the first byte
  double left_seconds = 0;   // the last byte has left the sender
  double end_seconds = 0;    // arrival
  bool in_place = false;
};
struct WalkedProduct {
  int rank = 0;
  std::vector<int> chunks;
  double begin_seconds = 0;
  double end_seconds = 0;
};
struct WalkedIdle {
  int rank = 0;
  Idle idle = Idle::kTransfer;
  double begin_seconds = 0;
  double end_seconds = 0;
};

struct LinkLoad {
  int link = 0;            // of Network::links(), the first of
  int num_links = 1;       // links that carry as much
  std::int64_t bytes = 0;  // of one of them
};

// Of the rank that ends last, of equals the first. multiply_seconds and the idle times add up to
// `seconds`, but for rounding.
struct RankTimes {
  double seconds = 0;
  int last_rank = 0;
  double multiply_seconds = 0;
  double idle_seconds[kNumIdles] = {};  // by Idle
  std::vector<LinkLoad> links;          // that carry anything
  int num_walked = 0;                   // ranks that were walked and stand for all
  // Of those ranks, where recorded.
  std::vector<WalkedTransfer> transfers;
  std::vector<WalkedProduct> products;
  std::vector<WalkedIdle> idles;
};

// Transfers that a walk follows one by one: (P - 1) * chunks_per_shard for each walked rank.
inline constexpr std::int64_t kMaxWalkedTransfers = std::int64_t{1} << 20;
// Over three links and more each transfer has a rate of its own, which changes with every other:
// walked ranks times crossings of links by such transfers. About two seconds.
inline constexpr std::int64_t kMaxFarCrossings = std::int64_t{1} << 25;

// Memory grows with the transfers that are walked. Throws Error(kInvalidArgument) where there are
// more than these, saying why so many must be.
RankTimes walk_ranks(const RankWork& work, const Network& network, const Symmetry& symmetry,
                     bool record);

}  // namespace cmm::sim
