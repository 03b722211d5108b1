#include "cmm/tpu_simulate.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "api/tpu_kernels.hpp"
#include "api/tpu_reference.hpp"
#include "api/tpu_setting.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "schedule/tile_needs.hpp"
#include "sim/bound.hpp"
#include "sim/reference_walk.hpp"
#include "sim/tile_table.hpp"
#include "sim/timeline.hpp"

namespace cmm::tpu {
namespace {

KernelTimes kernel_times(const Setting& setting, Schedule schedule, const sim::TileTimes& walked) {
  KernelTimes times;
  static_cast<DeviceTimes&>(times) = walked;
  times.schedule = schedule;
  times.share_of_bound = setting.bound.seconds / walked.seconds;
  times.mxu_share = setting.bound.mxu_seconds / walked.seconds;
  if (setting.timeline) {
    const Problem& problem = setting.problem;
    times.timeline = sim::tile_timeline(
        walked, {.title = cat(schedule_name(schedule), " on ", problem.num_devices(), " x ",
                              setting.chip.name),
                 .subtitle = cat(element_name(problem.element), " m=", problem.m, " k=", problem.k,
                                 " n=", joined(problem.n, ",")),
                 .num_devices = problem.num_devices(),
                 .bound_seconds = setting.bound.seconds});
  }
  return times;
}

std::optional<KernelTimes> time_reference(const Setting& setting, const KernelOptions& options,
                                          std::string& refused) {
  const ReferenceChoice choice = choose_reference(setting.of_core, setting.chip, options);
  refused = choice.refused;
  if (!refused.empty()) return std::nullopt;
  const int num_devices = setting.problem.num_devices();
  const sim::ReferenceProblem problem = {
      .machine = setting.tiles.machine,
      .num_devices = num_devices,
      .shard_rows = setting.problem.m / num_devices,
      .k = setting.problem.k,
      .cols = setting.of_core.n[0] / num_devices,
      .bn = choice.options.bn,
      .bk = choice.options.bk,
  };
  KernelTimes times = kernel_times(setting, Schedule::kReference,
                                   sim::walk_reference(problem, {.spans = setting.timeline}));
  const Kernel kernel = reference_kernel(choice.options, setting.chip);
  times.num_semaphores = num_semaphores(kernel.program);
  times.vmem_bytes = vmem_bytes(kernel.program, setting.chip);
  times.parameters = block_sizes_text(choice.options.bn, choice.options.bk);
  return times;
}

KernelTimes time_wavefront(const Setting& setting, const sim::TilePlan& plan) {
  const sim::TileMachine& machine = setting.tiles.machine;
  KernelTimes times = kernel_times(
      setting, Schedule::kWavefront,
      setting.timeline ? sim::walk(plan.schedule, machine, {.spans = true}) : plan.times);
  times.num_semaphores = schedule::num_semaphores(plan.schedule.shape);
  times.vmem_bytes = schedule::vmem_bytes(plan.schedule.shape, machine.elements);
  times.parameters = sim::to_text(plan.parameters);
  return times;
}

KernelTimes time_sequential(const Setting& setting) {
  sim::Sequential sequential = sim::best_sequential(setting.tiles);
  if (setting.timeline) {
    const double gathered = sequential.gather_seconds;
    sim::TileMachine machine = setting.tiles.machine;
    if (sequential.y_comes_early) machine.own_x_from_seconds = gathered;
    sim::TileTimes product = sim::walk(sequential.product.schedule, machine, {.spans = true});
    const double begin = sequential.y_comes_early ? 0 : gathered;
    for (sim::TileSpan& span : product.spans) {
      span.begin_seconds += begin;
      span.end_seconds += begin;
    }
    for (const auto lane : {sim::TileSpan::Lane::kForward, sim::TileSpan::Lane::kBackward}) {
      if (gathered == 0) break;
      sim::TileSpan gather;
      gather.lane = lane;
      gather.end_seconds = gathered;
      gather.text = "gather of x";
      product.spans.push_back(gather);
    }
    sequential.times.spans = std::move(product.spans);
  }
  return kernel_times(setting, Schedule::kSequential, sequential.times);
}

// Why there are none; empty where there are. What the caller has wrong is no refusal.
template <class Time>
std::string add_unless_refused(std::vector<KernelTimes>& kernels, const Time& time) {
  try {
    kernels.push_back(time());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported && error.code() != ErrorCode::kOutOfMemory) throw;
    return error.what();
  }
  return "";
}

const std::string& refusal(const Simulation& simulation, Schedule schedule) {
  return schedule == Schedule::kReference   ? simulation.reference_refused
         : schedule == Schedule::kWavefront ? simulation.wavefront_refused
                                            : simulation.sequential_refused;
}

}  // namespace

const KernelTimes* Simulation::find(Schedule schedule) const {
  const auto at = std::find_if(kernels.begin(), kernels.end(), [&](const KernelTimes& times) {
    return times.schedule == schedule;
  });
  return at == kernels.end() ? nullptr : &*at;
}

Simulation simulate(const Problem& problem, const Chip& chip, const SimulateOptions& options) {
  check(options.kernel);
  check_candidates(options.num_candidates);
  Setting setting =
      setting_of(problem, chip,
                 {.slice = options.slice, .copy_bytes_per_second = options.copy_bytes_per_second});
  setting.timeline = options.timeline;
  Simulation simulation;
  simulation.bound = setting.bound;
  if (auto times = time_reference(setting, options.kernel, simulation.reference_refused)) {
    simulation.kernels.push_back(std::move(*times));
  }
  simulation.wavefront_refused = add_unless_refused(simulation.kernels, [&] {
    sim::TilePlan plan = wavefront_plan(setting.tiles, options.kernel);
    if (options.num_candidates > 0) {
      plan = sim::search_tiles(setting.tiles, std::move(plan),
                               {.seed = options.seed, .num_candidates = options.num_candidates});
    }
    return time_wavefront(setting, plan);
  });
  simulation.sequential_refused =
      add_unless_refused(simulation.kernels, [&] { return time_sequential(setting); });
  simulation.chosen = options.kernel.schedule;
  if (simulation.kernels.empty()) {
    throw Error(ErrorCode::kUnsupported,
                cat("no schedule for this problem: reference: ", simulation.reference_refused,
                    "; wavefront: ", simulation.wavefront_refused,
                    "; sequential: ", simulation.sequential_refused));
  }
  if (simulation.chosen == Schedule::kAuto) {
    simulation.chosen = std::min_element(simulation.kernels.begin(), simulation.kernels.end(),
                                         [](const KernelTimes& a, const KernelTimes& b) {
                                           return a.seconds < b.seconds;
                                         })
                            ->schedule;
  } else if (simulation.find(simulation.chosen) == nullptr) {
    throw Error(ErrorCode::kUnsupported, refusal(simulation, simulation.chosen));
  }
  return simulation;
}

}  // namespace cmm::tpu
