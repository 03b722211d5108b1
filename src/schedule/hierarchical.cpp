#include "schedule/hierarchical.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace cmm::schedule {
namespace {

Transfer fetch(const Host& host, int num_slots, int wave, int l) {
  const SlotPool pool = host.fetch_pool(num_slots, l);
  const int index = wave - host.C;
  const int previous = pool.previous(index);
  return {.chunk = host.chunk(wave, l),
          .from = host.owner(wave, l),
          .to = host.begin + l,
          .step = host.fetch_step(wave),
          .read_slot = kNone,
          .write_slot = pool.slot(index),
          .after = previous == kNone ? kNone : host.chunk(host.C + previous, l)};
}

Transfer take(const Host& host, int num_slots, int wave, int l, int turn) {
  const int giver = host.sibling(wave, l, turn);
  const SlotPool pool = host.take_pool(num_slots, l);
  const int index = host.take_index(wave, turn);
  int after = kNone;
  if (const int previous = pool.previous(index); previous != kNone) {
    const int wave_before = previous / (host.n - 1);
    after = host.chunk(wave_before, host.sibling(wave_before, l, previous % (host.n - 1)));
  }
  return {
      .chunk = host.chunk(wave, giver),
      .from = host.begin + giver,
      .to = host.begin + l,
      .step = host.exchange_step(wave),
      .read_slot = wave < host.C ? kNone : host.fetch_pool(num_slots, giver).slot(wave - host.C),
      .write_slot = pool.slot(index),
      .after = after};
}

std::vector<Transfer> receives(const Host& host, int num_slots, int l) {
  std::vector<Transfer> list;
  list.reserve(static_cast<std::size_t>((host.P - 1) * host.C));
  const int num_waves = host.C + host.num_fetch_waves();
  // Round `wave` of this loop: the rank asks for its part of the wave, then for the parts of its
  // siblings in the wave before, which they asked for a round ago.
  for (int wave = host.C; wave <= num_waves; ++wave) {
    if (l < host.width(wave)) list.push_back(fetch(host, num_slots, wave, l));
    for (int done = wave == host.C ? 0 : wave - 1; done < wave; ++done)
      for (int turn = 0; turn < host.num_turns(done, l); ++turn)
        list.push_back(take(host, num_slots, done, l, turn));
  }
  return list;
}

// A transfer and its place in the run "all ranks do what stands at place 0, then at place 1, ...",
// by which sends are ordered as receives are: what a transfer waits for lies at earlier places.
struct Placed {
  std::pair<int, int> place;  // step; take_index, 0 for fetches, which are listed first
  Transfer transfer;
};

std::vector<Transfer> sends(const Shape& shape, const Host& host, int num_slots, int l) {
  std::vector<Placed> placed;
  const int rank = host.begin + l;
  for (int number = 0; number < shape.num_hosts; ++number) {
    const Host other = make_host(shape, host.C, number);
    if (other.begin == host.begin) continue;
    const int distance = (rank - other.begin - other.n + shape.num_ranks) % shape.num_ranks;
    for (int piece = 0; piece < host.C; ++piece) {
      const int index = piece * other.remote_shards() + distance;
      const Transfer t = fetch(other, num_slots, other.C + index / other.n, index % other.n);
      placed.push_back({{t.step, 0}, t});
    }
  }
  for (int wave = 0; l < host.width(wave); ++wave)
    for (int taker = 0; taker < host.n; ++taker) {
      if (taker == l) continue;
      const int turn = host.turn_of(wave, taker, l);
      const Transfer t = take(host, num_slots, wave, taker, turn);
      placed.push_back({{t.step, host.take_index(wave, turn)}, t});
    }
  std::ranges::stable_sort(placed, {}, &Placed::place);
  std::vector<Transfer> list;
  list.reserve(placed.size());
  for (const Placed& p : placed) list.push_back(p.transfer);
  return list;
}

Host host_of_rank(const Shape& shape, int rank) {
  const int C = chunks_per_shard(shape);
  int number = 0;
  while (make_host(shape, C, number).begin + make_host(shape, C, number).n <= rank) ++number;
  return make_host(shape, C, number);
}

// Hosts have one of two numbers of ranks, that of the first or that of the last.
Host first_host(const Shape& shape) { return make_host(shape, chunks_per_shard(shape), 0); }
Host last_host(const Shape& shape) {
  return make_host(shape, chunks_per_shard(shape), shape.num_hosts - 1);
}

}  // namespace

std::vector<Transfer> hierarchical_receives(const Shape& shape, int rank, int num_slots) {
  const Host host = host_of_rank(shape, rank);
  return receives(host, num_slots, rank - host.begin);
}

std::vector<Transfer> hierarchical_sends(const Shape& shape, int rank, int num_slots) {
  const Host host = host_of_rank(shape, rank);
  return sends(shape, host, num_slots, rank - host.begin);
}

int hierarchical_min_slots(const Shape& shape) {
  return std::max(first_host(shape).min_slots(), last_host(shape).min_slots());
}

int hierarchical_num_pools(const Shape& shape) {
  return std::max(first_host(shape).num_pools(), last_host(shape).num_pools());
}

}  // namespace cmm::schedule
