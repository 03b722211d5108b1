// What a timing of a kernel starts from.
#pragma once

#include "api/tpu_machine.hpp"
#include "cmm/tpu_simulate.hpp"
#include "sim/tile_plan.hpp"

namespace cmm::tpu {

// The problem of one core on its machine.
struct Setting {
  Problem problem;
  Problem of_core;
  Chip chip;
  sim::TileProblem tiles;
  Bound bound;
  bool timeline = false;
};
// Throws Error(kInvalidArgument) for a problem that is none.
Setting setting_of(const Problem& problem, const Chip& chip, const MachineOptions& machine);
// Of a search. Throws Error(kInvalidArgument) for a number that is none.
void check_candidates(int num_candidates);

}  // namespace cmm::tpu
