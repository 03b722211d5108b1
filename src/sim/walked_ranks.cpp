#include "sim/walked_ranks.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm::sim {
namespace {

[[noreturn]] void refuse(const RankWork& work, const Symmetry& symmetry, const std::string& what) {
  const std::string why = symmetry.why_not.empty() ? "" : cat(", since ", symmetry.why_not);
  throw Error(
      ErrorCode::kInvalidArgument,
      cat(symmetry.period, " of ", work.shape.num_ranks, " ranks must be walked one by one", why,
          ": ", what, " can be; take fewer ranks or pieces, or what is the same on all ranks"));
}

void check_transfers(const RankWork& work, const Symmetry& symmetry) {
  const std::int64_t transfers =
      std::int64_t{schedule::received_chunks(work.shape)} * symmetry.period;
  if (transfers > kMaxWalkedTransfers)
    refuse(work, symmetry, cat(transfers, " transfers, of which at most ", kMaxWalkedTransfers));
}

void check_far_crossings(const RankWork& work, const Symmetry& symmetry, std::int64_t crossings) {
  if (crossings > kMaxFarCrossings / symmetry.period)
    refuse(work, symmetry,
           cat("transfers over three links and more cross ", crossings, " links, of which at most ",
               kMaxFarCrossings / symmetry.period));
}

void check_slots(const RankWork& work) {
  const schedule::Shape& shape = work.shape;
  const int least =
      work.gathers_first ? schedule::received_chunks(shape) : schedule::min_slots(shape);
  const bool is_default = shape.num_slots == 0 && !work.gathers_first;
  if (is_default || shape.num_slots >= least) return;
  throw Error(ErrorCode::kInvalidArgument,
              cat("num_slots is ", shape.num_slots, "; ", schedule::algorithm_name(shape.algorithm),
                  work.gathers_first ? " that gathers first" : "", " needs ", least));
}

// The classes of links that a route crosses. All turns of one flow cross a link as often as the
// flow crosses the link's class, and each of them again for every turn that leaves the link where
// it is.
std::vector<Crossing> crossings_of(const Route& route, const Symmetry& symmetry, int num_turns) {
  std::vector<Crossing> crossings;
  for (const int link : route.links) {
    const int number = symmetry.class_of_link[link];
    const int weight = num_turns / symmetry.links_in_class[number];
    const auto place = std::ranges::find(crossings, number, &Crossing::link);
    if (place == crossings.end())
      crossings.push_back({number, weight});
    else
      place->weight += weight;
  }
  std::ranges::sort(crossings, {}, &Crossing::link);
  return crossings;
}

// Receives of each rank, in the order of the schedule, with the holding each comes from.
void add_receives(const RankWork& work, WalkedRanks& ranks) {
  const int C = schedule::chunks_per_shard(work.shape);
  ranks.num_sends.assign(static_cast<std::size_t>(ranks.num_walked) * ranks.num_chunks, 0);
  ranks.receives.reserve(static_cast<std::size_t>(ranks.num_walked) * ranks.receives_of_rank);
  for (int rank = 0; rank < ranks.num_walked; ++rank)
    for (const schedule::Transfer& t : schedule::make_receives(work.shape, rank)) {
      // The sender's rank and chunk, turned back to the walked rank that stands for it.
      const int back = t.from - t.from % ranks.num_walked;
      const int chunk = (t.chunk - back * C + ranks.num_chunks) % ranks.num_chunks;
      const int holder = ranks.holding(t.from % ranks.num_walked, chunk);
      ++ranks.num_sends[holder];
      ranks.receives.push_back({t, -1, holder, false});
    }
}

}  // namespace

WalkedRanks make_walked_ranks(const RankWork& work, const Network& network,
                              const Symmetry& symmetry, Flows& flows) {
  check_transfers(work, symmetry);
  check_slots(work);
  const schedule::Shape& shape = work.shape;
  WalkedRanks ranks;
  ranks.num_walked = symmetry.period;
  ranks.num_chunks = schedule::num_chunks(shape);
  ranks.receives_of_rank = schedule::received_chunks(shape);
  add_receives(work, ranks);
  const int num_turns = shape.num_ranks / ranks.num_walked;
  const bool may_look = shape.algorithm == schedule::Algorithm::kDirect ||
                        shape.algorithm == schedule::Algorithm::kHierarchical;
  std::map<std::pair<int, bool>, int> streams;  // of one rank, by sender and whether in place
  Route route;
  std::int64_t far_crossings = 0;
  for (std::size_t i = 0; i < ranks.receives.size(); ++i) {
    if (i % ranks.receives_of_rank == 0) streams.clear();
    Receive& receive = ranks.receives[i];
    const schedule::Transfer& t = receive.transfer;
    const double look = may_look ? network.seconds_to_look(t.from, t.to) : -1;
    receive.in_place = look >= 0 && ranks.num_sends[ranks.holding(t.to, t.chunk)] == 0;
    const auto [place, is_new] =
        streams.try_emplace({t.from, receive.in_place}, static_cast<int>(ranks.streams.size()));
    receive.stream = place->second;
    if (is_new && receive.in_place) {
      ranks.streams.push_back({-1, 0, look});
    } else if (is_new) {
      network.find_route(t.from, t.to, route);
      const int path =
          route.links.empty() ? -1 : flows.path(crossings_of(route, symmetry, num_turns));
      ranks.streams.push_back({path, static_cast<int>(route.links.size()), route.latency_seconds});
    }
    const int num_links = ranks.streams[receive.stream].num_links;
    if (num_links > 2) far_crossings += num_links;
  }
  check_far_crossings(work, symmetry, far_crossings);
  return ranks;
}

}  // namespace cmm::sim
