#include "cmm/simulate.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "api/plan_state.hpp"
#include "api/simulated_machine.hpp"
#include "base/integers.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "schedule/partition.hpp"
#include "sim/rank_timeline.hpp"
#include "sim/rank_walk.hpp"
#include "sim/symmetry.hpp"
#include "sim/timeline.hpp"

namespace cmm {
namespace {

using schedule::Partition;
using schedule::Shape;

// On slices: chunks of half a megabyte or so, as between hosts.
constexpr std::int64_t kChunkBytes = std::int64_t{512} << 10;
constexpr std::int64_t kMaxPieces = 16;
// Those that a slice is tried with, of which each takes what is not there from its owner, a
// neighbour, or far away.
constexpr std::array kOnSlices = {Algorithm::kBidirectional, Algorithm::kRing,
                                  Algorithm::kRecursiveDoubling, Algorithm::kDirect};

struct Simulator {
  const ProblemShape& shape;
  int num_ranks;
  const api::SimulatedRanks& machine;

  std::int64_t row_bytes() const {
    return shape.k * static_cast<std::int64_t>(dtype_bytes(shape.dtype));
  }
  Partition partition(const Shape& schedule) const {
    return shape.rows.empty() ? Partition::even(shape.m, schedule)
                              : Partition::uneven(shape.rows, schedule);
  }
  RankSimulation run(Shape schedule, bool timeline) const;
  SimulatedBound bound(const Shape& schedule, const Partition& partition, bool moves) const;
};

SimulatedBound Simulator::bound(const Shape& schedule, const Partition& partition,
                                bool moves) const {
  SimulatedBound bound;
  bound.multiply_seconds = shape.m == 0 ? 0 : machine.multiply_seconds(shape.m, true);
  for (const sim::Site& site : machine.network->sites()) {
    const std::int64_t there = partition.shard(site.first_rank + site.num_ranks - 1).end -
                               partition.shard(site.first_rank).begin;
    bound.transfer_seconds =
        std::max(bound.transfer_seconds,
                 static_cast<double>((shape.m - there) * row_bytes()) / site.bytes_per_second_in);
  }
  double first = std::numeric_limits<double>::infinity();
  sim::Route route;
  int from = schedule::kNone;
  double slowest = 0;  // of the links from there
  for (const schedule::Transfer& t : schedule::make_receives(schedule, 0)) {
    const double look = machine.network->seconds_to_look(t.from, 0);
    if (look >= 0 && !moves) {
      first = std::min(first, look);
      continue;
    }
    if (std::exchange(from, t.from) != t.from) {
      machine.network->find_route(t.from, 0, route);
      slowest = std::numeric_limits<double>::infinity();
      for (const int link : route.links)
        slowest = std::min(slowest, machine.network->links()[link].bytes_per_second);
    }
    const auto bytes = static_cast<double>(partition.chunk(t.chunk).size() * row_bytes());
    first = std::min(first, route.latency_seconds + bytes / slowest);
  }
  if (num_ranks > 1) bound.first_chunk_seconds = first;
  if (moves && shape.m > 0)
    bound.last_chunk_seconds = bound.multiply_seconds *
                               static_cast<double>(partition.largest_chunk()) /
                               static_cast<double>(shape.m);
  bound.seconds = std::max(bound.multiply_seconds, bound.transfer_seconds) +
                  bound.first_chunk_seconds + bound.last_chunk_seconds;
  return bound;
}

std::vector<SimulatedLink> links_of(const sim::RankTimes& times, const sim::Network& network) {
  std::vector<SimulatedLink> links;
  for (const sim::LinkLoad& load : times.links) {
    const sim::Link& link = network.links()[load.link];
    const double busy = static_cast<double>(load.bytes) / link.bytes_per_second / times.seconds;
    links.push_back({link.name, load.num_links, load.bytes, busy});
  }
  std::ranges::stable_sort(links, std::greater<>(), &SimulatedLink::busy);
  return links;
}

void add_headlines(Timeline& timeline, const RankSimulation& result) {
  const auto figure = [&](const char* name, const std::string& value) {
    timeline.figures.push_back({name, value});
  };
  const auto seconds = [&](const char* name, double value) {
    figure(name, sim::seconds_text(value));
  };
  seconds("time", result.seconds);
  seconds("bound", result.bound.seconds);
  figure("share of bound", sim::percent_text(result.share_of_bound));
  seconds("multiply", result.multiply_seconds);
  seconds("gather alone", result.gather_seconds);
  seconds("exposed communication", result.exposed_seconds);
  seconds("idle: transfer", result.idle_transfer_seconds);
  seconds("idle: latency", result.idle_latency_seconds);
  seconds("idle: upstream", result.idle_upstream_seconds);
  seconds("idle: slot", result.idle_slot_seconds);
  if (!result.links.empty())
    figure("busiest link", cat(result.links[0].name, ", ", sim::percent_text(result.links[0].busy),
                               " of the time"));
}

RankSimulation Simulator::run(Shape schedule, bool timeline) const {
  const bool gathers_first = shape.m <= machine.gather_first_rows;
  if (gathers_first) schedule.num_slots = schedule::received_chunks(schedule);
  const Partition rows = partition(schedule);
  sim::RankWork work{.shape = schedule,
                     .partition = &rows,
                     .row_bytes = row_bytes(),
                     .multiply_seconds = machine.multiply_seconds,
                     .wave_rows = machine.wave_rows,
                     .gathers_first = gathers_first,
                     .max_in_flight = machine.max_in_flight};
  const sim::Symmetry symmetry = sim::find_symmetry(schedule, rows, *machine.network);
  const sim::RankTimes times = sim::walk_ranks(work, *machine.network, symmetry, timeline);
  work.multiply_seconds = [](std::int64_t, bool) { return 0.0; };
  const sim::RankTimes gather = sim::walk_ranks(work, *machine.network, symmetry, false);
  const auto idle = [&](sim::Idle cause) {
    return times.idle_seconds[static_cast<std::size_t>(cause)];
  };
  RankSimulation result;
  result.algorithm = api::to_public(schedule.algorithm);
  result.pieces = schedule.num_pieces;
  result.num_chunks = schedule::num_chunks(schedule);
  result.seconds = times.seconds;
  result.bound = bound(schedule, rows, !times.links.empty());
  result.share_of_bound = times.seconds > 0 ? result.bound.seconds / times.seconds : 1;
  result.gather_seconds = gather.seconds;
  result.multiply_seconds = times.multiply_seconds;
  result.idle_transfer_seconds = idle(sim::Idle::kTransfer);
  result.idle_latency_seconds = idle(sim::Idle::kLatency);
  result.idle_upstream_seconds = idle(sim::Idle::kUpstream);
  result.idle_slot_seconds = idle(sim::Idle::kSlot);
  result.exposed_seconds =
      std::accumulate(times.idle_seconds, times.idle_seconds + sim::kNumIdles, 0.0);
  result.last_rank = times.last_rank;
  result.num_walked = times.num_walked;
  result.links = links_of(times, *machine.network);
  if (!timeline) return result;
  result.timeline = sim::rank_timeline(times, schedule);
  result.timeline.title =
      cat(algorithm_name(result.algorithm), ", ", result.pieces,
          result.pieces == 1 ? " piece" : " pieces", " per shard: ", machine.name);
  result.timeline.subtitle =
      cat("x [", shape.m, ", ", shape.k, "] times y [", shape.k, ", ", joined(shape.n_local, " + "),
          "] on each rank, ", dtype_name(shape.dtype));
  add_headlines(result.timeline, result);
  return result;
}

Options options_of(const SimulateOptions& options, const Network& network) {
  Options out;
  out.algorithm = options.algorithm;
  out.pieces = options.pieces;
  out.network = network;
  return out;
}

RankSimulation on_hosts(const Simulator& simulator, const SimulatedHosts& machine,
                        const SimulateOptions& options) {
  std::vector<int> hosts;  // of each rank
  for (int host = 0; host < machine.num_hosts; ++host)
    hosts.resize(
        static_cast<std::size_t>(even_part(simulator.num_ranks, machine.num_hosts, host).end),
        host);
  const api::Choice choice =
      api::choose(simulator.shape, options_of(options, machine.network), hosts);
  RankSimulation result = simulator.run(choice.schedule, options.timeline);
  result.reason = choice.reason;
  return result;
}

Shape shape_on_slice(const Simulator& simulator, Algorithm algorithm, int pieces) {
  Options options;
  options.algorithm = algorithm;
  options.pieces = 1;
  const std::vector<int> one_host(static_cast<std::size_t>(simulator.num_ranks), 0);
  Shape schedule = api::choose(simulator.shape, options, one_host).schedule;
  if (algorithm == Algorithm::kHierarchical) schedule.num_hosts = simulator.machine.num_hosts;
  schedule.num_pieces = static_cast<int>(std::clamp<std::int64_t>(
      api::largest_shard_bytes(simulator.shape, simulator.num_ranks) / kChunkBytes, 1, kMaxPieces));
  if (pieces > 0) schedule.num_pieces = pieces;
  return schedule;
}

RankSimulation on_slice(const Simulator& simulator, const SimulateOptions& options) {
  const auto run = [&](Algorithm algorithm) {
    return simulator.run(shape_on_slice(simulator, algorithm, options.pieces), options.timeline);
  };
  if (options.algorithm != Algorithm::kAuto) {
    RankSimulation result = run(options.algorithm);
    result.reason = "named by the caller";
    return result;
  }
  std::optional<RankSimulation> best;
  std::string tried;
  for (const Algorithm algorithm : kOnSlices) {
    tried += cat(tried.empty() ? "" : ", ", algorithm_name(algorithm), " ");
    try {
      RankSimulation result = run(algorithm);
      tried += sim::seconds_text(result.seconds);
      if (!best || result.seconds < best->seconds) best = std::move(result);
    } catch (const Error& error) {  // too many ranks that differ
      if (!best || error.code() != ErrorCode::kInvalidArgument) throw;
      tried += "too large to walk";
    }
  }
  best->reason = "the fastest of those simulated: " + tried;
  return *std::move(best);
}

}  // namespace

RankSimulation simulate(const ProblemShape& shape, int num_ranks, const SimulatedMachine& machine,
                        const SimulateOptions& options) {
  if (num_ranks < 1 || num_ranks > kMaxRanks)
    throw Error(ErrorCode::kInvalidArgument,
                cat("num_ranks is ", num_ranks, "; it must be 1 to ", kMaxRanks));
  const auto* hosts = std::get_if<SimulatedHosts>(&machine);
  api::check_shape(shape, options_of(options, hosts != nullptr ? hosts->network : Network()),
                   num_ranks);
  if (hosts != nullptr) {
    const api::SimulatedRanks ranks = api::simulated_ranks(shape, num_ranks, *hosts);
    return on_hosts({shape, num_ranks, ranks}, *hosts, options);
  }
  const api::SimulatedRanks ranks =
      api::simulated_ranks(shape, num_ranks, std::get<SimulatedSlice>(machine));
  return on_slice({shape, num_ranks, ranks}, options);
}

}  // namespace cmm
