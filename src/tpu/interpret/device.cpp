// A device's way through the calls: entering, instructions, the points of the grid, leaving.
#include "base/text.hpp"
#include "tpu/interpret/elements.hpp"
#include "tpu/interpret/run_state.hpp"
#include "tpu/shapes.hpp"

namespace cmm::tpu {
namespace {

bool is_barrier(const RunState& run, std::size_t array) {
  return run.program.semaphores[array].kind == SemaphoreKind::kBarrier;
}

void enter(RunState& run, Device& device) {
  std::size_t input = 0;
  for (std::size_t i = 0; i < run.program.buffers.size(); ++i) {
    const Buffer& buffer = run.program.buffers[i];
    DeviceMemory& memory = device.memories[i];
    if (buffer.role == Role::kInput) {
      memory.read = run.inputs[static_cast<std::size_t>(device.id)][input++].data();
      continue;
    }
    memory.own.resize(
        static_cast<std::size_t>(num_elements(buffer.shape) * element_bytes(buffer.element)));
    poison(buffer.element, memory.own);
    memory.read = memory.write = memory.own.data();
    memory.accesses.clear();
  }
  for (Semaphore& semaphore : device.semaphores) semaphore.begin_call();
  device.grid.assign(run.program.grid.size(), 0);
  device.scalars.set_grid(device.grid);
  device.at = 0;
  device.state = Device::State::kInside;
  // What was sent before tells nobody of this call.
  const auto self = static_cast<std::size_t>(device.id);
  device.entered = {device.id, ++device.clock[self]};
}

void leave(RunState& run, Device& device) {
  for (std::size_t array = 0; array < run.program.semaphores.size(); ++array) {
    if (is_barrier(run, array)) continue;  // a neighbour may be in the next call already
    const std::int64_t count = num_elements(run.program.semaphores[array].shape);
    for (std::int64_t i = 0; i < count; ++i) {
      const Semaphore& semaphore =
          device.semaphores[static_cast<std::size_t>(run.first_semaphore[array] + i)];
      if (semaphore.has() == 0 && semaphore.outstanding() == 0) continue;
      const std::int64_t to_come = semaphore.outstanding() - semaphore.has();
      throw FaultFound{
          Fault::Kind::kSemaphoreNotZero,
          cat("semaphore ", semaphore_name(run, device, &semaphore), " is ", semaphore.has(),
              to_come > 0 ? cat(", and a copy in flight adds ", to_come, " bytes") : "")};
    }
  }
  ++device.call;
  device.state =
      device.call < run.options.num_calls ? Device::State::kOutside : Device::State::kDone;
}

// The next point of the grid, the last dimension fastest; false after the last.
bool advance(Device& device, const std::vector<std::int64_t>& grid) {
  for (std::size_t i = grid.size(); i-- > 0;) {
    if (++device.grid[i] < grid[i]) {
      device.scalars.set_grid(device.grid);
      return true;
    }
    device.grid[i] = 0;
  }
  return false;
}

void carry_out(RunState& run, Device& device, const Instruction& instruction) {
  ScalarValues& scalars = device.scalars;
  switch (instruction.kind) {
    case Instruction::Kind::kStatement:
      execute(run, device, *instruction.statement);
      ++device.at;
      break;
    case Instruction::Kind::kIf: {
      const auto& branch = std::get<If>(instruction.statement->what);
      device.at = scalars.get(branch.condition) != 0 ? device.at + 1 : instruction.target;
      break;
    }
    case Instruction::Kind::kLoopBegin: {
      const auto& loop = std::get<For>(instruction.statement->what);
      const std::int64_t begin = scalars.get(loop.begin);
      const bool any = begin < scalars.get(loop.end);
      device.at = any ? device.at + 1 : instruction.target;
      if (any) scalars.set_variable(loop.index, begin);
      break;
    }
    case Instruction::Kind::kLoopEnd: {
      // The end cannot have changed: it is made of what was known before the loop.
      const auto& loop = std::get<For>(instruction.statement->what);
      const std::int64_t next = scalars.get(loop.index) + 1;
      const bool more = next < scalars.get(loop.end);
      device.at = more ? instruction.target : device.at + 1;
      if (more) scalars.set_variable(loop.index, next);
      break;
    }
    case Instruction::Kind::kEnd:
      if (advance(device, run.program.grid)) {
        device.at = 0;
      } else {
        leave(run, device);
      }
      break;
  }
}

}  // namespace

bool can_step(const RunState& run, const Device& device) {
  if (device.state == Device::State::kDone) return false;
  if (device.wait.semaphore == nullptr) return true;
  if (device.wait.semaphore->has() >= device.wait.amount) return true;
  return run.options.copies == CopyMode::kAtAwait && can_progress_for(run, device.wait.semaphore);
}

void step(RunState& run, Device& device) {
  if (device.state == Device::State::kOutside) return enter(run, device);
  if (Semaphore* const semaphore = device.wait.semaphore) {
    if (semaphore->has() < device.wait.amount) {
      progress_for(run, semaphore);
      return;
    }
    const Moment now{device.id, device.clock[static_cast<std::size_t>(device.id)]};
    semaphore->take(device.wait.amount, device.clock, now, run.copies);
    device.wait = {};
    return;
  }
  ++run.result.num_statements;
  carry_out(run, device, run.instructions[static_cast<std::size_t>(device.at)]);
}

}  // namespace cmm::tpu
