// What the parts of the list schedulers share: the clock, what has been written and the step that
// is being written.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "schedule/tile_needs.hpp"
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
        engine(engine_rates(machine)) {
    schedule.shape = shape;
  }

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

  // Before the schedule is there: with as many fields as the parameters and these loads of a step
  // allow.
  void estimate_control(int x_loads, int y_loads) {
    schedule::TileFields fields = schedule::count_fields(schedule);
    fields.sends = parameters.sends_per_step;
    fields.x_loads = x_loads;
    fields.y_loads = y_loads;
    fields.x_stores = shape.gathered ? 1 : 0;
    control_seconds = control_cycles(machine.chip, shape, fields) / machine.chip.clock_hz;
  }
  // Of a step that multiplies.
  double step_seconds(int body) const {
    const double cycles = product_cycles(machine, shape, body) + fill_cycles(machine, shape, body);
    return cycles / machine.chip.clock_hz + control_seconds;
  }

  // Goes on to the next step.
  void push_step() {
    for (auto* list : {&step.waits, &step.starts, &step.operands, &step.after}) sort(*list);
    schedule.steps.push_back(std::exchange(step, {}));
  }
  // In the order of a row of the table.
  static void sort(std::vector<schedule::TileAction>& actions) {
    std::ranges::stable_sort(actions, {}, &schedule::TileAction::kind);
  }

  const TileMachine& machine;
  const TileParameters& parameters;
  const schedule::TileShape& shape;
  TileCopies works;
  CopyEngine engine;
  double control_seconds = 0;  // of a step
  schedule::TileSchedule schedule;
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
