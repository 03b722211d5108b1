// What a walk of all ranks looks up: the receives of the walked ranks, whom they wait for, and over
// which links they go.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/flows.hpp"
#include "sim/rank_walk.hpp"

namespace cmm::sim {

// Chunks of one walked rank from one sender that move one after the other.
struct Stream {
  int path = -1;      // of Flows; -1: bytes take no time
  int num_links = 0;  // that each chunk crosses
  double latency_seconds = 0;
};

struct Receive {
  schedule::Transfer transfer;
  int stream = -1;
  int holder = -1;        // the chunk as its sender holds it: index of WalkedRanks::holding
  bool in_place = false;  // read where it lies: no slot, and nothing is sent
};

// Ranks 0 .. period - 1. A holding is a chunk on one of them: rank * num_chunks + chunk.
struct WalkedRanks {
  int num_walked = 0;
  int num_chunks = 0;
  int receives_of_rank = 0;
  std::vector<Receive> receives;  // [num_walked][receives_of_rank], in the order of the schedule
  std::vector<Stream> streams;
  std::vector<int> num_sends;  // by holding: receives of any rank from there, looks included

  int holding(int rank, int chunk) const { return rank * num_chunks + chunk; }
  int rank_of(int receive) const { return receive / receives_of_rank; }
};

// Throws as walk_ranks. Paths are added to `flows`, whose links are the classes of `symmetry`.
WalkedRanks make_walked_ranks(const RankWork& work, const Network& network,
                              const Symmetry& symmetry, Flows& flows);

}  // namespace cmm::sim
