#include "sim/symmetry.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.hpp"
#include "schedule/rotation.hpp"

namespace cmm::sim {
namespace {

bool shards_turn(const schedule::Partition& partition, int num_ranks, int period) {
  for (int rank = period; rank < num_ranks; ++rank)
    if (partition.shard(rank).size() != partition.shard(rank - period).size()) return false;
  return true;
}

// The map from each link to the one it turns into, as far as transfers cross them.
class LinkTurn {
 public:
  explicit LinkTurn(const std::vector<Link>& links)
      : links_(links), image_(links.size(), -1), origin_(links.size(), -1) {}

  // False where the routes, or what is known of the links, contradict each other.
  bool add(const Route& route, const Route& next) {
    if (route.latency_seconds != next.latency_seconds || route.links.size() != next.links.size())
      return false;
    for (std::size_t i = 0; i < route.links.size(); ++i)
      if (!add(route.links[i], next.links[i])) return false;
    return true;
  }

  void write_classes(Symmetry& symmetry) const {
    symmetry.class_of_link.assign(links_.size(), -1);
    for (int first = 0; first < static_cast<int>(links_.size()); ++first) {
      if (image_[first] < 0 || symmetry.class_of_link[first] >= 0) continue;
      const int number = static_cast<int>(symmetry.first_link.size());
      symmetry.first_link.push_back(first);
      symmetry.links_in_class.push_back(0);
      for (int link = first; symmetry.class_of_link[link] < 0; link = image_[link]) {
        symmetry.class_of_link[link] = number;
        ++symmetry.links_in_class.back();
      }
    }
  }

 private:
  bool add(int link, int next) {
    if (links_[link].bytes_per_second != links_[next].bytes_per_second) return false;
    if (image_[link] < 0 && origin_[next] < 0) {
      image_[link] = next;
      origin_[next] = link;
    }
    return image_[link] == next && origin_[next] == link;
  }

  const std::vector<Link>& links_;
  std::vector<int> image_;
  std::vector<int> origin_;
};

struct Pair {
  int from, to;
  bool operator<(const Pair& other) const {
    return std::pair(from, to) < std::pair(other.from, other.to);
  }
  bool operator==(const Pair&) const = default;
};

// Who sends to the ranks that would stand for all.
std::vector<Pair> pairs_of(const schedule::Shape& shape, int period) {
  std::vector<Pair> pairs;
  for (int rank = 0; rank < period; ++rank) {
    const auto begin = static_cast<std::ptrdiff_t>(pairs.size());
    for (const schedule::Transfer& t : schedule::make_receives(shape, rank))
      pairs.push_back({t.from, rank});
    std::sort(pairs.begin() + begin, pairs.end());
    pairs.erase(std::unique(pairs.begin() + begin, pairs.end()), pairs.end());
  }
  return pairs;
}

bool routes_turn(const std::vector<Pair>& pairs, int period, const Network& network,
                 LinkTurn& turn) {
  const int P = network.num_ranks();
  Route route, next;
  for (const auto [from, to] : pairs) {
    network.find_route(from, to, route);
    const double look = network.seconds_to_look(from, to);
    for (int by = period; by <= P; by += period) {
      const int turned_from = (from + by) % P, turned_to = (to + by) % P;
      network.find_route(turned_from, turned_to, next);
      if (network.seconds_to_look(turned_from, turned_to) != look || !turn.add(route, next))
        return false;
      std::swap(route, next);
    }
  }
  return true;
}

Symmetry without(std::string why_not, const schedule::Shape& shape, const Network& network) {
  Symmetry symmetry = no_symmetry(shape, network);
  symmetry.why_not = std::move(why_not);
  return symmetry;
}

}  // namespace

Symmetry no_symmetry(const schedule::Shape& shape, const Network& network) {
  Symmetry symmetry;
  symmetry.period = shape.num_ranks;
  symmetry.class_of_link.resize(network.links().size());
  std::iota(symmetry.class_of_link.begin(), symmetry.class_of_link.end(), 0);
  symmetry.first_link = symmetry.class_of_link;
  symmetry.links_in_class.assign(network.links().size(), 1);
  return symmetry;
}

Symmetry find_symmetry(const schedule::Shape& shape, const schedule::Partition& partition,
                       const Network& network) {
  const int P = shape.num_ranks, period = network.period();
  if (period == P)
    return without(P == 1 ? "" : "the hosts have different numbers of ranks", shape, network);
  if (!shards_turn(partition, P, period))
    return without(
        cat("the ", partition.num_rows(), " rows of x are not spread evenly over ", P, " ranks"),
        shape, network);
  Symmetry symmetry;
  symmetry.period = period;
  LinkTurn turn(network.links());
  if (!routes_turn(pairs_of(shape, period), period, network, turn))
    return without(cat("the transfers of ", schedule::algorithm_name(shape.algorithm),
                       " cross links that carry different loads"),
                   shape, network);
  if (!schedule::turns(shape, period))
    return without(cat("the schedule of ", schedule::algorithm_name(shape.algorithm),
                       " differs from rank to rank"),
                   shape, network);
  turn.write_classes(symmetry);
  return symmetry;
}

}  // namespace cmm::sim
