#include "schedule/traffic.hpp"

#include <algorithm>
#include <vector>

#include "base/integers.hpp"

namespace cmm::schedule {
namespace {

std::vector<int> hosts_of_ranks(const Shape& shape) {
  std::vector<int> hosts;
  for (int host = 0; host < shape.num_hosts; ++host)
    hosts.resize(even_part(shape.num_ranks, shape.num_hosts, host).end, host);
  return hosts;
}

int largest(const std::vector<int>& counts) { return *std::ranges::max_element(counts); }

}  // namespace

Traffic traffic(const Shape& shape) {
  check_shape(shape);
  const int P = shape.num_ranks;
  const std::size_t chunks = num_chunks(shape);
  const std::vector<int> host = hosts_of_ranks(shape);
  std::vector<int> out(P), into_host(shape.num_hosts), out_of_host(shape.num_hosts);
  std::vector<std::vector<Transfer>> receives;  // [P]
  Traffic result{.chunks_into_rank = received_chunks(shape)};
  for (int rank = 0; rank < P; ++rank) {
    receives.push_back(make_rank_schedule(shape, rank).receives);
    std::vector<int> link(P);  // chunks from each rank to this one
    for (const Transfer& t : receives.back()) {
      result.num_steps = std::max(result.num_steps, t.step);
      ++out[t.from];
      ++link[t.from];
      if (host[t.from] == host[rank]) continue;
      ++into_host[host[rank]];
      ++out_of_host[host[t.from]];
    }
    result.most_chunks_on_link = std::max(result.most_chunks_on_link, largest(link));
  }
  result.most_chunks_out = largest(out);
  result.most_chunks_into_host = largest(into_host);
  result.most_chunks_out_of_host = largest(out_of_host);

  // A chunk leaves a rank at a later step than it got there, so step by step is the right order.
  std::vector<int> hops(P * chunks);  // [P, chunks]
  std::vector<std::size_t> next(P);
  for (int step = 1; step <= result.num_steps; ++step)
    for (int rank = 0; rank < P; ++rank)
      for (; next[rank] < receives[rank].size() && receives[rank][next[rank]].step == step;
           ++next[rank]) {
        const Transfer& t = receives[rank][next[rank]];
        hops[rank * chunks + t.chunk] = hops[t.from * chunks + t.chunk] + 1;
      }
  result.most_hops = largest(hops);
  return result;
}

}  // namespace cmm::schedule
