#include "api/tpu_kernels.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "api/tpu_machine.hpp"
#include "api/tpu_reference.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "sim/tile_table.hpp"
#include "tpu/kernels/wavefront.hpp"

namespace cmm::tpu {
namespace {

WavefrontOptions wavefront_options(const Problem& problem, const KernelOptions& options) {
  WavefrontOptions wavefront;
  wavefront.ring = {.mesh = problem.mesh, .axis = problem.axis};
  wavefront.asked = {.m = problem.m, .k = problem.k, .cols = {}};
  for (const std::int64_t n : problem.n) {
    wavefront.asked.cols.push_back(n / problem.num_devices());
  }
  wavefront.element = problem.element;
  wavefront.out_element = problem.result_element();
  wavefront.rhs_transposed = problem.rhs_transposed;
  wavefront.collective_id = options.collective_id;
  wavefront.debug = options.debug;
  return wavefront;
}

MadeKernel make_reference(const Problem& problem, const Chip& chip, const KernelOptions& options) {
  const ReferenceChoice choice = choose_reference(problem, chip, options);
  if (!choice.refused.empty()) {
    const bool blocks_given = options.bn != 0 || options.bk != 0;
    throw Error(blocks_given ? ErrorCode::kInvalidArgument : ErrorCode::kUnsupported,
                choice.refused);
  }
  MadeKernel made;
  made.kernel = reference_kernel(choice.options, chip);
  made.schedule = Schedule::kReference;
  made.parameters = block_sizes_text(choice.options.bn, choice.options.bk);
  const std::vector<std::int64_t>& grid = made.kernel.program.grid;
  made.num_steps = static_cast<int>(
      std::accumulate(grid.begin(), grid.end(), std::int64_t{1}, std::multiplies<>()));
  return made;
}

std::int64_t num_statements(const Program& program) {
  std::int64_t count = 0;
  for_each_statement(program.body, [&count](const Statement&, int) { ++count; });
  return count;
}

// Each row of the table with the fields that something is in: what the kernel does in that step.
std::string table_text(const Kernel& kernel) {
  const TableLayout& layout = kernel.table_layout;
  const std::size_t width = static_cast<std::size_t>(layout.width);
  std::string text = cat("table [", kernel.table.size() / width, ", ", width, "]\n");
  for (std::size_t row = 0; row * width < kernel.table.size(); ++row) {
    const std::int32_t* words = &kernel.table[row * width];
    text += cat("  step ", row);
    const char* before = ": ";
    for (const TableLayout::Field& field : layout.fields) {
      const bool counts = field.body < 0 || field.body == words[layout.body_at];
      if (!counts || words[field.at] < 0) continue;
      text += cat(before, field.name, " ", words[field.at]);
      before = ", ";
    }
    text += "\n";
  }
  return text;
}

}  // namespace

bool is_reference(const KernelOptions& options) {
  return options.schedule == Schedule::kReference ||
         (options.schedule == Schedule::kAuto && (options.bn != 0 || options.bk != 0));
}

void check(const KernelOptions& options) {
  const auto refuse = [&](const auto&... option) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(option..., ", but the schedule is ", schedule_name(options.schedule),
                    "; leave one of them out"));
  };
  for (const auto& [name, size] : {std::pair{"bn", options.bn}, std::pair{"bk", options.bk}}) {
    if (size < 0) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat(name, " is ", size, "; it must be above 0, or 0 for the tuned one"));
    }
  }
  const bool takes_blocks =
      options.schedule == Schedule::kReference || options.schedule == Schedule::kAuto;
  const bool takes_parameters =
      options.schedule == Schedule::kWavefront || options.schedule == Schedule::kAuto;
  if (!takes_blocks && options.bn != 0) refuse("bn is ", options.bn, ", of the reference kernel");
  if (!takes_blocks && options.bk != 0) refuse("bk is ", options.bk, ", of the reference kernel");
  if (!takes_parameters && !options.parameters.empty()) {
    refuse("parameters are '", options.parameters, "', of the wavefront kernel");
  }
}

sim::TileProblem tile_problem(const Problem& problem, const Chip& chip,
                              const sim::TileMachine& machine) {
  sim::TileProblem tiles;
  tiles.machine = machine;
  tiles.shape = padded_shape(wavefront_options(problem, {}), chip);
  tiles.shape.gathered = problem.gathered;
  return tiles;
}

sim::TilePlan wavefront_plan(const sim::TileProblem& problem, const KernelOptions& options) {
  if (options.parameters.empty()) return sim::best_tiles(problem);
  sim::ListScheduled scheduled =
      sim::list_schedule(problem, sim::parse_tile_parameters(options.parameters));
  if (!scheduled.plan) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("parameters '", options.parameters, "': ", scheduled.why_not));
  }
  return std::move(*scheduled.plan);
}

Kernel wavefront_kernel_of(const Problem& problem, const Chip& chip, const KernelOptions& options,
                           const schedule::TileSchedule& tiles) {
  return wavefront_kernel(tiles, wavefront_options(problem, options), chip);
}

MadeKernel make_kernel(const Problem& problem, const Chip& chip, const KernelOptions& options) {
  check(problem);
  check(options);
  if (options.schedule == Schedule::kSequential) {
    throw Error(ErrorCode::kUnsupported,
                "the sequential schedule is XLA's gather and product and no kernel of ours; name "
                "reference or wavefront");
  }
  const Problem of_core = problem_of_core(problem, chip);
  if (is_reference(options) && !options.parameters.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("both bn or bk, of the reference kernel, and parameters '", options.parameters,
                    "', of the wavefront kernel, are given; leave one of them out"));
  }
  if (is_reference(options)) return make_reference(of_core, chip, options);
  MadeKernel made;
  const sim::TilePlan plan =
      wavefront_plan(tile_problem(of_core, chip, ring_machine(problem, chip, {})), options);
  made.kernel = wavefront_kernel_of(of_core, chip, options, plan.schedule);
  made.parameters = sim::to_text(plan.parameters);
  made.num_steps = static_cast<int>(plan.schedule.steps.size());
  return made;
}

KernelDescription describe(const MadeKernel& made, const Chip& chip) {
  const Program& program = made.kernel.program;
  KernelDescription description;
  description.schedule = made.schedule;
  description.name = program.name;
  description.parameters = made.parameters;
  description.vmem_bytes = vmem_bytes(program, chip);
  description.num_semaphores = num_semaphores(program);
  description.num_steps = made.num_steps;
  description.table_words = static_cast<std::int64_t>(made.kernel.table.size());
  description.num_statements = num_statements(program);
  description.flops = program.cost.flops;
  description.hbm_bytes = program.cost.hbm_bytes;
  description.remote_bytes = program.cost.remote_bytes;
  return description;
}

KernelDescription describe(const Problem& problem, const Chip& chip, const KernelOptions& options) {
  return describe(make_kernel(problem, chip, options), chip);
}

std::string kernel_text(const Problem& problem, const Chip& chip, const KernelOptions& options) {
  const MadeKernel made = make_kernel(problem, chip, options);
  const std::string program = to_text(made.kernel.program);
  return made.kernel.table.empty() ? program : program + "\n" + table_text(made.kernel);
}

}  // namespace cmm::tpu
