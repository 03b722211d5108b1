// The search for parameters of the wavefront kernel, by the model and with the compiler's word.
#include <algorithm>
#include <optional>
#include <utility>

#include "api/tpu_setting.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "cmm/tpu_compile.hpp"
#include "sim/tile_table.hpp"
#include "tpu/aot/worker.hpp"

namespace cmm::tpu {
namespace {

std::vector<sim::TilePlan> best_plans(const Setting& setting, const TuneOptions& options,
                                      int num_plans) {
  check_candidates(options.num_candidates);
  return sim::search_best_tiles(setting.tiles, sim::best_tiles(setting.tiles),
                                {.seed = options.seed, .num_candidates = options.num_candidates},
                                num_plans);
}

Tuned tuned_of(const Setting& setting, const std::string& parameters, double seconds) {
  return {.parameters = parameters,
          .seconds = seconds,
          .planned_seconds = sim::plan_tiles(setting.tiles).times.seconds,
          .bound = setting.bound};
}

Setting setting_for(const Problem& problem, const Chip& chip, const TuneOptions& options) {
  return setting_of(
      problem, chip,
      {.slice = options.slice, .copy_bytes_per_second = options.copy_bytes_per_second});
}

// Of the blocks of a body the longest; of a body that has none in the report what the model says.
sim::StepCycles cycles_of(const CompileReport& report, const sim::TileMachine& machine,
                          const schedule::TileShape& shape) {
  sim::StepCycles cycles{.products = {}, .control = static_cast<double>(report.control_cycles)};
  for (int body = 0; body < static_cast<int>(shape.bodies.size()); ++body) {
    double longest = 0;
    for (const ScheduleBlock& block : report.blocks) {
      if (block.body == body) longest = std::max(longest, static_cast<double>(block.cycles));
    }
    const double model =
        sim::product_cycles(machine, shape, body) + sim::fill_cycles(machine, shape, body);
    cycles.products.push_back(longest > 0 ? longest : model);
  }
  return cycles;
}

}  // namespace

Tuned tune(const Problem& problem, const Chip& chip, const TuneOptions& options) {
  const Setting setting = setting_for(problem, chip, options);
  const sim::TilePlan best = std::move(best_plans(setting, options, 1).front());
  return tuned_of(setting, sim::to_text(best.parameters), best.times.seconds);
}

VerifiedTuning tune_verified(const Problem& problem, const Chip& chip, int num_compiled,
                             const TuneOptions& options, const CompileOptions& compile) {
  if (num_compiled < 1) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("num_compiled is ", num_compiled, "; give at least 1"));
  }
  CompileOptions with_report = compile;
  with_report.libtpu = aot::find_libtpu(compile.libtpu);
  with_report.report = true;
  const Setting setting = setting_for(problem, chip, options);
  VerifiedTuning verified;
  const VerifiedCandidate* best = nullptr;
  std::optional<Error> first_refusal;
  const std::vector<sim::TilePlan> plans = best_plans(setting, options, num_compiled);
  verified.candidates.reserve(plans.size());
  for (const sim::TilePlan& plan : plans) {
    VerifiedCandidate& candidate = verified.candidates.emplace_back();
    candidate.parameters = sim::to_text(plan.parameters);
    candidate.model_seconds = plan.times.seconds;
    try {
      candidate.report =
          compile_kernel(problem, chip,
                         {.schedule = Schedule::kWavefront, .parameters = candidate.parameters},
                         with_report)
              .report;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kInvalidArgument) throw;
      candidate.refused = error.what();
      if (!first_refusal) first_refusal = error;
      continue;
    }
    const sim::TileMachine& machine = setting.tiles.machine;
    const sim::StepCycles cycles = cycles_of(candidate.report, machine, plan.schedule.shape);
    candidate.seconds = sim::walk(plan.schedule, machine, {.cycles = &cycles}).seconds;
    if (best == nullptr || candidate.seconds < best->seconds) best = &candidate;
  }
  if (best == nullptr) throw *first_refusal;
  verified.tuned = tuned_of(setting, best->parameters, best->seconds);
  return verified;
}

}  // namespace cmm::tpu
