// Walks the reference kernel's schedule with a clock, in the same model as tile schedules.
#pragma once

#include <cstdint>

#include "sim/tile_walk.hpp"

namespace cmm::sim {

struct ReferenceProblem {
  TileMachine machine;
  int num_devices = 2;          // P >= 2
  std::int64_t shard_rows = 0;  // m / P, even
  std::int64_t k = 0;
  std::int64_t cols = 0;  // of one core
  std::int64_t bn = 0;    // divides cols
  std::int64_t bk = 0;    // divides k
};

TileTimes walk_reference(const ReferenceProblem& problem, const WalkOptions& options = {});

}  // namespace cmm::sim
