// What the parts of the list scheduler share: the clock, and the step that is being written.
#pragma once

#include <algorithm>
#include <vector>

#include "schedule/tiles.hpp"
#include "sim/tile_copies.hpp"
#include "sim/tile_plan.hpp"

namespace cmm::sim {

struct ListContext {
  ListContext(const TileProblem& problem, const TileParameters& planned,
              const schedule::TileShape& of)
      : machine(problem.machine),
        parameters(planned),
        shape(of),
        works(machine, shape),
        engine(engine_rates(machine)) {}

  bool are_done(const std::vector<int>& copies) const {
    return std::ranges::all_of(copies, [this](int copy) { return engine.is_done(copy); });
  }
  // Of copies that move or are about to.
  double bytes_left(const std::vector<int>& copies) const {
    const double soon = engine.now() + std::max(machine.chip.copy_seconds, machine.hop_seconds);
    double bytes = 0;
    for (const int copy : copies) {
      if (!engine.is_done(copy) && engine.begin_seconds(copy) <= soon)
        bytes += engine.bytes_left(copy);
    }
    return bytes;
  }

  const TileMachine& machine;
  const TileParameters& parameters;
  const schedule::TileShape& shape;
  TileCopies works;
  CopyEngine engine;
  schedule::TileStep step;
};

// Copies into a slot.
struct SlotLoad {
  std::vector<int> copies;
  int slot = schedule::kNone;
  bool is_there = false;
  bool awaited = false;
};

}  // namespace cmm::sim
