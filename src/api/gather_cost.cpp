#include "api/gather_cost.hpp"

#include <algorithm>
#include <bit>

#include "base/integers.hpp"

namespace cmm::api {
namespace {

// Shards that reach each host from outside when rank r takes `shards` of them from rank r -
// distance (mod P): every rank of the host whose source is elsewhere adds them.
class IntoHosts {
 public:
  explicit IntoHosts(const std::vector<int>& hosts)
      : hosts_(hosts), shards_(static_cast<std::size_t>(num_hosts(hosts)), 0) {}

  void add(int distance, std::int64_t shards) {
    const auto P = static_cast<int>(hosts_.size());
    for (int r = 0; r < P; ++r) {
      const int from = ((r - distance) % P + P) % P;
      if (host(from) != host(r)) shards_[static_cast<std::size_t>(host(r))] += shards;
    }
  }
  std::int64_t most() const { return *std::max_element(shards_.begin(), shards_.end()); }

 private:
  int host(int rank) const { return hosts_[static_cast<std::size_t>(rank)]; }
  const std::vector<int>& hosts_;
  std::vector<std::int64_t> shards_;
};

// Every rank of a host takes every shard of another host; with `share`, the ranks of a host share
// what they take.
std::int64_t shards_from_other_hosts(const std::vector<int>& hosts, bool share) {
  std::vector<std::int64_t> size(static_cast<std::size_t>(num_hosts(hosts)), 0);
  for (const int host : hosts) ++size[static_cast<std::size_t>(host)];
  std::int64_t most = 0;
  for (const std::int64_t n : size) {
    const std::int64_t remote = static_cast<std::int64_t>(hosts.size()) - n;
    most = std::max(most, share ? remote : n * remote);
  }
  return most;
}

}  // namespace

int num_hosts(const std::vector<int>& hosts) {
  return 1 + *std::max_element(hosts.begin(), hosts.end());
}

bool hosts_are_even_and_consecutive(const std::vector<int>& hosts) {
  const auto P = static_cast<std::int64_t>(hosts.size());
  const int H = num_hosts(hosts);
  for (int host = 0; host < H; ++host) {
    const Range ranks = even_part(P, H, host);
    for (std::int64_t r = ranks.begin; r < ranks.end; ++r) {
      if (hosts[static_cast<std::size_t>(r)] != host) return false;
    }
  }
  return true;
}

GatherCost gather_cost(schedule::Algorithm algorithm, const std::vector<int>& hosts) {
  const auto P = static_cast<int>(hosts.size());
  if (num_hosts(hosts) == 1) return {};
  IntoHosts into(hosts);
  switch (algorithm) {
    case schedule::Algorithm::kDirect:
      return {1, shards_from_other_hosts(hosts, false)};
    case schedule::Algorithm::kHierarchical:
      return {1, shards_from_other_hosts(hosts, true)};
    case schedule::Algorithm::kRing:
      into.add(1, P - 1);
      return {P - 1, into.most()};
    case schedule::Algorithm::kBidirectional: {
      // Half of every shard each way; a host's link carries both at once, in either direction.
      into.add(1, P - 1);
      into.add(-1, P - 1);
      return {P - 1, ceil_div(into.most(), 2)};
    }
    case schedule::Algorithm::kRecursiveDoubling: {
      // Step s: from the rank 2^(s - 1) ahead, as many shards, or what is left.
      int distance = 1;
      for (; distance < P; distance *= 2) into.add(-distance, std::min(distance, P - distance));
      return {static_cast<int>(std::bit_width(static_cast<unsigned>(P - 1))), into.most()};
    }
  }
  return {};
}

}  // namespace cmm::api
