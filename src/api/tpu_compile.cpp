#include "cmm/tpu_compile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "api/tpu_kernels.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "sim/tile_walk.hpp"
#include "tpu/aot/compile.hpp"
#include "tpu/aot/dump_folder.hpp"
#include "tpu/aot/schedule_report.hpp"
#include "tpu/aot/slice.hpp"
#include "tpu/emit/custom_call.hpp"
#include "tpu/emit/stablehlo.hpp"

namespace cmm::tpu {
namespace {

constexpr std::array<std::string_view, 3> kWrapperNames = {"sdy", "gspmd", "replica"};

// A kernel that is emitted has all columns of its device: where a device is two cores, it is the
// compiler that shares them out.
Chip whole_device(const Chip& chip) {
  Chip device = chip;
  device.cores_per_device = 1;
  return device;
}

emit::Wrapper wrapper_of(const EmitOptions& options) {
  return static_cast<emit::Wrapper>(options.wrapper);
}
emit::BodyOptions body_options(const EmitOptions& options) {
  return {.version = options.mosaic_version,
          .form = options.bytecode ? emit::BodyForm::kBytecode : emit::BodyForm::kText,
          .bounds_checks = options.bounds_checks};
}

// Of each block of statements that multiplies what it takes by the simulator's model, in order.
void add_products(const Kernel& kernel, const Chip& chip, const Block& block,
                  std::vector<double>& products) {
  double here = 0, fill = 0;
  const auto type = [&](Vector vector) -> const VectorType& {
    return kernel.program.vectors[static_cast<std::size_t>(vector.id)];
  };
  for (const Statement& statement : block) {
    if (const auto* matmul = std::get_if<Matmul>(&statement.what)) {
      const VectorType& lhs = type(matmul->lhs);
      const auto rows = static_cast<double>(lhs.shape[0]);
      const auto cols = static_cast<double>(type(matmul->result).shape[1]);
      here += sim::op_cycles(chip, lhs.element, rows, static_cast<double>(lhs.shape[1]), cols);
      fill = std::max(fill, sim::fill_cycles(chip, lhs.element, rows, cols));
    }
    if (const Block* inner = body_of(statement)) add_products(kernel, chip, *inner, products);
  }
  if (here > 0) products.push_back(here + fill);
}

// The bodies of a wavefront kernel that its table uses; it has code for no others.
std::vector<int> bodies_of(const Kernel& kernel) {
  std::vector<int> bodies;
  for (const TableLayout::Field& field : kernel.table_layout.fields) {
    if (field.body >= 0 && (bodies.empty() || bodies.back() != field.body)) {
      bodies.push_back(field.body);
    }
  }
  return bodies;
}

// The compiler keeps the order of blocks; where it has made more or fewer of them than the program
// has, what they are is not known.
void name_products(const Kernel& kernel, const Chip& chip, CompileReport& report) {
  std::vector<double> products;
  add_products(kernel, chip, kernel.program.body, products);
  if (products.empty()) return;
  report.model_cycles = std::llround(*std::max_element(products.begin(), products.end()));
  const auto num_blocks = std::ranges::count_if(
      report.blocks, [](const auto& block) { return block.num_products > 0; });
  if (num_blocks != std::ssize(products)) return;
  const std::vector<int> bodies = bodies_of(kernel);
  std::size_t i = 0;
  for (ScheduleBlock& block : report.blocks) {
    if (block.num_products == 0) continue;
    block.model_cycles = products[i];
    // Where k is cut a body has two blocks.
    if (!bodies.empty()) block.body = bodies[i * bodies.size() / products.size()];
    ++i;
  }
}

CompileReport report_of(const aot::ScheduleReport& schedule) {
  CompileReport report;
  double busy_cycles = 0;
  for (const aot::CycleBlock& block : schedule.blocks) {
    if (!block.in_loop) continue;
    report.blocks.push_back({.address = block.address,
                             .cycles = block.cycles,
                             .num_products = block.num_products,
                             .mxu_busy = block.mxu_busy});
    if (block.num_products > 0 && block.cycles == schedule.product_cycles) {
      busy_cycles = block.mxu_busy * static_cast<double>(block.cycles);
    }
  }
  report.product_cycles = schedule.product_cycles;
  report.control_cycles = schedule.control_cycles;
  const std::int64_t step = schedule.product_cycles + schedule.control_cycles;
  if (step > 0) report.mxu_busy = busy_cycles / static_cast<double>(step);
  report.vmem_bytes = schedule.vmem_top_bytes;
  report.spill_bytes = schedule.vmem_top_bytes - schedule.buffers_top_bytes;
  report.num_copy_starts = schedule.num_copy_starts;
  report.num_copy_awaits = schedule.num_copy_awaits;
  report.num_remote_signals = schedule.num_remote_signals;
  report.num_operands_moved = std::count(schedule.operand_memories.begin(),
                                         schedule.operand_memories.end(), std::string("vmem"));
  return report;
}

}  // namespace

std::string_view wrapper_name(Wrapper wrapper) {
  return kWrapperNames[static_cast<std::size_t>(wrapper)];
}

Wrapper parse_wrapper(std::string_view name) {
  for (std::size_t i = 0; i < kWrapperNames.size(); ++i) {
    if (kWrapperNames[i] == name) return static_cast<Wrapper>(i);
  }
  throw Error(ErrorCode::kInvalidArgument,
              cat("wrapper is '", name, "'; give sdy, gspmd or replica"));
}

CustomCall custom_call(const Problem& problem, const Chip& chip, const KernelOptions& kernel,
                       const EmitOptions& options) {
  const Kernel made = make_kernel(problem, whole_device(chip), kernel).kernel;
  aot::check_kernel(made, chip);
  CustomCall call{.name = made.program.name,
                  .config = emit::custom_call(made.program, chip, body_options(options)).config,
                  .table = made.table,
                  .operands = {},
                  .results = {}};
  for (const Buffer& buffer : made.program.buffers) {
    const Tensor tensor{.element = buffer.element, .shape = buffer.shape};
    if (buffer.role == Role::kInput) call.operands.push_back(tensor);
    if (buffer.role == Role::kOutput) call.results.push_back(tensor);
  }
  if (!call.table.empty()) call.operands.erase(call.operands.begin());
  return call;
}

Emitted emit_kernel(const Problem& problem, const Chip& chip, const KernelOptions& kernel,
                    const EmitOptions& options) {
  const Kernel made = make_kernel(problem, whole_device(chip), kernel).kernel;
  aot::check_kernel(made, chip);
  const double begin = thread_cpu_seconds();
  emit::CustomCall call = emit::custom_call(made.program, chip, body_options(options));
  Emitted emitted{.name = made.program.name,
                  .body = {},
                  .config = std::move(call.config),
                  .module = {},
                  .notes_of_lines = {}};
  emitted.module = emit::stablehlo_module(made, emitted.config, {.wrapper = wrapper_of(options)});
  emitted.seconds = thread_cpu_seconds() - begin;
  emitted.body = std::move(call.body.text);
  for (const int note : call.body.notes_of_lines) {
    emitted.notes_of_lines.push_back(note < 0 ? ""
                                              : made.program.notes[static_cast<std::size_t>(note)]);
  }
  return emitted;
}

std::vector<int> ring_order(const std::vector<DevicePlace>& devices, int ring_size) {
  std::vector<aot::DeviceAt> places;
  for (const DevicePlace& device : devices) {
    if (device.chip.size() != 3) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("a chip's place has ", device.chip.size(), " numbers; give x, y and z"));
    }
    places.push_back(
        {.chip = {device.chip[0], device.chip[1], device.chip[2]}, .core = device.core});
  }
  return aot::ring_order(places, ring_size);
}

Compilation compile_kernel(const Problem& problem, const Chip& chip, const KernelOptions& kernel,
                           const CompileOptions& options) {
  const MadeKernel made = make_kernel(problem, whole_device(chip), kernel);
  std::optional<aot::DumpFolder> dump;
  if (options.report) dump.emplace();
  const aot::Compiled compiled = aot::compile(made.kernel, chip,
                                              {.body = body_options(options.emit),
                                               .wrapper = wrapper_of(options.emit),
                                               .slice = options.slice,
                                               .assignment = options.devices,
                                               .libtpu = options.libtpu,
                                               .worker = {},
                                               .dump = dump ? dump->path() : std::string(),
                                               .timeout_seconds = options.timeout_seconds});
  Compilation compilation;
  compilation.kernel = describe(made, chip);
  compilation.libtpu = compiled.libtpu;
  compilation.version = compiled.version;
  compilation.topology = compiled.topology;
  compilation.devices = compiled.assignment;
  compilation.longest_hop = compiled.longest_hop;
  compilation.fingerprint = compiled.fingerprint;
  compilation.executable = compiled.executable;
  compilation.code_bytes = compiled.code_bytes;
  compilation.argument_bytes = compiled.argument_bytes;
  compilation.output_bytes = compiled.output_bytes;
  compilation.temporary_bytes = compiled.temporary_bytes;
  compilation.scoped_vmem_bytes = emit::scoped_vmem_bytes(made.kernel.program, chip);
  compilation.compile_seconds = compiled.compile_seconds;
  compilation.seconds = compiled.seconds;
  if (dump) {
    compilation.report = report_of(aot::read_schedule(dump->path()));
    name_products(made.kernel, chip, compilation.report);
  }
  return compilation;
}

}  // namespace cmm::tpu
