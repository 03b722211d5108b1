// From a public problem to a kernel.
#pragma once

#include <string>
#include <vector>

#include "cmm/tpu_kernel.hpp"
#include "schedule/tiles.hpp"
#include "sim/tile_plan.hpp"
#include "tpu/kernels/kernel.hpp"

namespace cmm::tpu {

struct MadeKernel {
  Kernel kernel;
  Schedule schedule = Schedule::kWavefront;
  std::string parameters;
  int num_steps = 0;
};
// kAuto is the wavefront kernel, and the reference kernel where bn or bk is given.
bool is_reference(const KernelOptions& options);
// Throws Error(kInvalidArgument) where an option makes no sense or is of a kernel that is not asked
// for.
void check(const KernelOptions& options);
// Throws as the functions of cmm/tpu_kernel.hpp.
MadeKernel make_kernel(const Problem& problem, const Chip& chip, const KernelOptions& options);

KernelDescription describe(const MadeKernel& made, const Chip& chip);

// What the planner of the wavefront kernel is asked: padded extents, and a machine.
sim::TileProblem tile_problem(const Problem& problem, const Chip& chip,
                              const sim::TileMachine& machine);
// By the parameters that are named, or the best known.
sim::TilePlan wavefront_plan(const sim::TileProblem& problem, const KernelOptions& options);
Kernel wavefront_kernel_of(const Problem& problem, const Chip& chip, const KernelOptions& options,
                           const schedule::TileSchedule& tiles);

}  // namespace cmm::tpu
