#include "tpu/interpret/interpret.hpp"

#include <array>
#include <utility>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "tpu/check.hpp"
#include "tpu/interpret/run_state.hpp"
#include "tpu/shapes.hpp"
#include "tpu/text.hpp"

namespace cmm::tpu {
namespace {

// By buffer: whether copies from other devices write to it.
std::vector<bool> remote_targets(const Program& program) {
  std::vector<bool> targets(program.buffers.size());
  for_each_statement(program.body, [&](const Statement& statement, int) {
    if (const auto* copy = std::get_if<StartCopy>(&statement.what); copy && copy->remote) {
      targets[static_cast<std::size_t>(copy->target.buffer)] = true;
    }
  });
  return targets;
}

void check_arguments(const Program& program, const std::vector<std::vector<Array>>& inputs,
                     const RunOptions& options) {
  const auto refuse = [](const std::string& text) {
    throw Error(ErrorCode::kInvalidArgument, text);
  };
  if (inputs.size() != static_cast<std::size_t>(program.num_devices)) {
    refuse(cat("inputs of ", inputs.size(), " devices; the program is for ", program.num_devices));
  }
  if (options.num_calls < 1) refuse(cat("num_calls is ", options.num_calls, "; at least 1"));
  if (options.late_device < -1 || options.late_device >= program.num_devices) {
    refuse(cat("late_device is ", options.late_device, "; there are ", program.num_devices,
               " devices, and -1 for none"));
  }
  for (std::size_t device = 0; device < inputs.size(); ++device) {
    std::size_t next = 0;
    for (const Buffer& buffer : program.buffers) {
      if (buffer.role != Role::kInput) continue;
      const std::size_t have = next < inputs[device].size() ? inputs[device][next].size() : 0;
      const auto bytes =
          static_cast<std::size_t>(num_elements(buffer.shape) * element_bytes(buffer.element));
      if (have != bytes) {
        refuse(cat("input ", next, " of device ", device, ", ", buffer.name, ", has ", have,
                   " bytes; ", element_name(buffer.element), " ", shape_text(buffer.shape), " are ",
                   bytes));
      }
      ++next;
    }
    if (next != inputs[device].size()) {
      refuse(cat(inputs[device].size(), " inputs of device ", device, "; the program has ", next));
    }
  }
}

}  // namespace

RunState::RunState(const Program& the_program, const Chip& the_chip, const RunOptions& the_options,
                   const std::vector<std::vector<Array>>& the_inputs)
    : program(the_program),
      chip(the_chip),
      options(the_options),
      inputs(the_inputs),
      instructions(flatten(the_program)),
      remote_target(remote_targets(the_program)),
      random(the_options.seed) {
  std::int64_t num_semaphores = 0;
  for (const SemaphoreArray& array : program.semaphores) {
    first_semaphore.push_back(static_cast<int>(num_semaphores));
    num_semaphores += num_elements(array.shape);
  }
  for (int id = 0; id < program.num_devices; ++id) {
    Device& device = devices.emplace_back(program, id);
    device.vectors.resize(program.vectors.size());
    device.memories.resize(program.buffers.size());
    device.semaphores.resize(static_cast<std::size_t>(num_semaphores));
    for (const FirstWaits& waits : options.distrusted) {
      device.semaphores[static_cast<std::size_t>(waits.semaphore)].distrust(waits.num_waits);
    }
    device.clock.assign(static_cast<std::size_t>(program.num_devices), 0);
  }
}

std::string statement_text(const RunState& run, int instruction) {
  const Statement* statement = run.instructions[static_cast<std::size_t>(instruction)].statement;
  if (statement == nullptr) return "end of the kernel";
  const TextWriter writer(run.program);
  return writer.line(*statement) + writer.note(*statement);
}

std::string where(const RunState& run, int device, int instruction) {
  return cat("device ", device, ": ", statement_text(run, instruction));
}

std::string semaphore_name(const RunState& run, const Device& device, const Semaphore* semaphore) {
  const auto number = semaphore - device.semaphores.data();
  std::size_t array = run.first_semaphore.size() - 1;
  while (run.first_semaphore[array] > number) --array;
  std::int64_t rest = number - run.first_semaphore[array];
  const SemaphoreArray& names = run.program.semaphores[array];
  std::string index;
  for (std::size_t i = names.shape.size(); i-- > 0; rest /= names.shape[i]) {
    index = cat(rest % names.shape[i], index.empty() ? "" : ", ", index);
  }
  return index.empty() ? names.name : cat(names.name, "[", index, "]");
}

std::string_view fault_name(Fault::Kind kind) {
  constexpr std::array<std::string_view, 10> kNames = {
      "deadlock",      "race",        "out of bounds", "misaligned", "semaphore not zero",
      "wrong element", "two writers", "not written",   "no end",     "invalid program"};
  return kNames[static_cast<std::size_t>(kind)];
}

RunResult run(const Program& program, const Chip& chip,
              const std::vector<std::vector<Array>>& inputs, const RunOptions& options) {
  RunResult refused;
  std::string text = check_structure(program);
  if (text.empty() && options.check_tiles) text = check_tiles(program, chip);
  if (!text.empty()) {
    refused.fault = Fault{.kind = Fault::Kind::kInvalid, .device = -1, .text = std::move(text)};
    return refused;
  }
  check_arguments(program, inputs, options);
  RunState state(program, chip, options, inputs);
  try {
    run_to_the_end(state);
  } catch (FaultFound& fault) {
    state.result.fault =
        Fault{.kind = fault.kind, .device = fault.device, .text = std::move(fault.text)};
  }
  for (Device& device : state.devices) {
    std::vector<Array>& outputs = state.result.outputs.emplace_back();
    for (std::size_t i = 0; i < program.buffers.size(); ++i) {
      if (program.buffers[i].role != Role::kOutput) continue;
      outputs.push_back(std::move(device.memories[i].own));
    }
  }
  return std::move(state.result);
}

}  // namespace cmm::tpu
