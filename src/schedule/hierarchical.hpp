// Hosts hold consecutive ranks. A chunk of another host's shard enters a host once, fetched from
// its owner by one rank of the host; the others take it from that rank. So each byte crosses each
// host's link once, and the ranks of a host fetch equally many chunks, to within one.
//
// What the n ranks of a host bring together comes in waves of one chunk from each. First their own
// shards: wave v is piece v, there from the start. Then what they fetch: piece 0 of all remote
// shards, beginning with the rank after the host, then piece 1, and so on; of this row the rank
// with local number l fetches every n-th chunk from the l-th on. At step s they fetch the s-th
// wave of these while they exchange the one before (at step 1: all waves of own chunks).
//
//   P = 4, 2 hosts   step 0     1       2
//   rank 0                0     2* 1    3        * fetched from another host, from its owner;
//   rank 1                1     3* 0    2          the rest is taken from the other rank of
//   rank 2                2     0* 3    1          the host
//   rank 3                3     1* 2    0
//
// Slots: fetched chunks take turns in one pool, taken ones in another. A fetched chunk is taken
// after the next one has arrived, so fetches need two slots; a taken one is not forwarded, so one
// will do.
#pragma once

#include <algorithm>
#include <vector>

#include "base/integers.hpp"
#include "schedule/schedule.hpp"

namespace cmm::schedule {

// Slots that take turns: `size` slots from `first` on, used round robin.
struct SlotPool {
  int first;
  int size;
  constexpr int slot(int i) const { return first + i % size; }
  constexpr int previous(int i) const { return i < size ? kNone : i - size; }  // use before use i
};

// One host of a hierarchical schedule; C is chunks_per_shard. `l` is a rank's local number,
// 0 <= l < n.
struct Host {
  int P;      // ranks
  int C;      // chunks of a shard
  int begin;  // its first rank
  int n;      // its ranks

  constexpr int remote_shards() const { return P - n; }
  constexpr int remote_chunks() const { return remote_shards() * C; }
  constexpr int num_fetches(int l) const { return (remote_chunks() + n - 1 - l) / n; }
  constexpr int num_fetch_waves() const { return num_fetches(0); }

  // Waves 0 .. C - 1 are own chunks, wave C + i is the i-th fetch. All n ranks have a part in a
  // wave, but for the last one, which has what remains. Past it the width is 0 or negative.
  constexpr int width(int wave) const { return std::min(n, remote_chunks() - (wave - C) * n); }
  constexpr int owner(int wave, int l) const {
    return wave < C ? begin + l : (begin + n + ((wave - C) * n + l) % remote_shards()) % P;
  }
  constexpr int piece(int wave, int l) const {
    return wave < C ? wave : ((wave - C) * n + l) / remote_shards();
  }
  constexpr int chunk(int wave, int l) const { return owner(wave, l) * C + piece(wave, l); }

  // In an exchange rank l takes from its `turn`-th sibling, the ones after it first. In a wave of
  // fewer than n a rank without a part begins elsewhere than its siblings.
  constexpr int num_turns(int wave, int l) const { return width(wave) - (l < width(wave) ? 1 : 0); }
  constexpr int sibling(int wave, int l, int turn) const {
    return (l + (l < width(wave) ? 1 : 0) + turn) % width(wave);
  }
  constexpr int turn_of(int wave, int l, int from) const {
    const int W = width(wave);
    const int behind = (from - l - (l < W ? 1 : 0)) % W;
    return behind < 0 ? behind + W : behind;
  }
  // Every wave before the last is full, so this numbers what a rank takes without a gap.
  constexpr int take_index(int wave, int turn) const { return wave * (n - 1) + turn; }

  constexpr int fetch_step(int wave) const { return wave - C + 1; }
  constexpr int exchange_step(int wave) const { return std::max(wave - C, -1) + 2; }

  constexpr SlotPool fetch_pool(int num_slots, int l) const {
    const int share = n == 1 ? num_slots : (num_slots + 1) / 2;
    return {0, std::min(share, num_fetches(l))};
  }
  constexpr SlotPool take_pool(int num_slots, int l) const {
    const int fetch = fetch_pool(num_slots, l).size;
    return {fetch, num_slots - fetch};
  }

  // Fewer slots than this would leave one of the two pools empty.
  constexpr int num_pools() const { return (n > 1 ? 1 : 0) + (remote_chunks() > 0 ? 1 : 0); }
  // Two ranks that fetch twice, with one slot for it, would each wait for the other to take the
  // first chunk. A single such rank finds its siblings ready to take it.
  constexpr int min_slots() const { return num_pools() + (n > 1 && num_fetches(1) > 1 ? 1 : 0); }
};

constexpr Host make_host(const Shape& shape, int C, int host) {
  const Range ranks = even_part(shape.num_ranks, shape.num_hosts, host);
  return {shape.num_ranks, C, static_cast<int>(ranks.begin), static_cast<int>(ranks.size())};
}

// For make_rank_schedule, which has checked the arguments; each rank has `num_slots` slots.
std::vector<Transfer> hierarchical_receives(const Shape& shape, int rank, int num_slots);
std::vector<Transfer> hierarchical_sends(const Shape& shape, int rank, int num_slots);

// The largest of all hosts.
int hierarchical_min_slots(const Shape& shape);
int hierarchical_num_pools(const Shape& shape);

}  // namespace cmm::schedule
