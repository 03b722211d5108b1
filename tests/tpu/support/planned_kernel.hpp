// Wavefront kernels whose schedules the planner has made: they load ahead and run ahead.
#pragma once

#include <stdexcept>
#include <string>

#include "sim/chips.hpp"
#include "sim/tile_plan.hpp"
#include "tpu/kernels/wavefront.hpp"

namespace cmm::tpu::test {

inline const Chip& planned_chip() { return sim::find_chip(sim::builtin_chips(), "v6e"); }

// `parameters` as sim::parse_tile_parameters() reads them; empty: the best that the planner finds.
inline Kernel planned_kernel(const WavefrontOptions& options, const std::string& parameters,
                             bool gathered = false) {
  const Chip& chip = planned_chip();
  sim::TileProblem problem = {.machine = {.chip = chip,
                                          .elements = {options.element, options.out_element},
                                          .link_bytes_per_second = chip.link_bytes_per_second,
                                          .hop_seconds = chip.hop_seconds},
                              .shape = padded_shape(options, chip)};
  problem.shape.gathered = gathered;
  if (parameters.empty()) {
    return wavefront_kernel(sim::plan_tiles(problem).schedule, options, chip);
  }
  const sim::ListScheduled scheduled =
      sim::list_schedule(problem, sim::parse_tile_parameters(parameters));
  if (!scheduled.plan) throw std::runtime_error(scheduled.why_not);
  return wavefront_kernel(scheduled.plan->schedule, options, chip);
}

}  // namespace cmm::tpu::test
