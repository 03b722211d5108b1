// Which mutants change nothing, by rules that docs/tpu.md argues one by one.
#include <algorithm>
#include <variant>

#include "tpu/mutants.hpp"
#include "tpu/mutants/edit.hpp"

namespace cmm::tpu {
namespace {

// The one of the entry's two semaphores that is the kernel's own.
bool is_second_round(const Program& program, int array) {
  const SemaphoreArray& of = program.semaphores[static_cast<std::size_t>(array)];
  return of.kind == SemaphoreKind::kRegular && of.shape.empty();
}

Statement statement_at(const Kernel& kernel, int number) {
  Program program = kernel.program;
  Statement found;
  for_each_statement(program.body, [&](Statement& statement, int at) {
    if (at == number) found = statement;
  });
  return found;
}

bool weakens_second_round(const Kernel& kernel, const Mutant& mutant) {
  const Program& program = kernel.program;
  if (mutant.kind == MutantKind::kDropRound || mutant.kind == MutantKind::kOrder) {
    const std::vector<int>& arrays = mutant.target.semaphores;
    return std::all_of(arrays.begin(), arrays.end(),
                       [&](int array) { return is_second_round(program, array); });
  }
  if (mutant.kind != MutantKind::kNeighbour || mutant.target.statement < 0) return false;
  const Statement statement = statement_at(kernel, mutant.target.statement);
  const auto* signal = std::get_if<Signal>(&statement.what);
  return signal != nullptr && is_second_round(program, signal->semaphore.array);
}

// Every wait for a departure stands before one for an arrival, at the same place of its array.
bool awaits_both_sides_together(const Kernel& kernel) {
  Program program = kernel.program;
  const AwaitCopy* departure = nullptr;
  bool together = true;
  for_each_statement(program.body, [&](Statement& statement, int) {
    const auto* await = std::get_if<AwaitCopy>(&statement.what);
    const bool is_arrival = await != nullptr && await->side == AwaitCopy::Side::kArrival;
    const bool is_pair =
        departure != nullptr && is_arrival && departure->semaphore.index == await->semaphore.index;
    if ((departure != nullptr || is_arrival) && !is_pair) together = false;
    departure = await != nullptr && await->side == AwaitCopy::Side::kDeparture ? await : nullptr;
  });
  return together && departure == nullptr;
}

bool exchanges_sides(const Mutant& mutant) {
  return mutant.kind == MutantKind::kSemaphore &&
         mutant.name.find("departure and arrival exchanged") != std::string::npos;
}

// Of the reference kernel, whose grid is [P + 2, grid_n, grid_k].
bool shares_x_slot_between_k_blocks(const Kernel& kernel, const Mutant& mutant) {
  if (mutant.kind != MutantKind::kFewerSlots || kernel.program.grid.size() != 3) return false;
  const Buffer& buffer = kernel.program.buffers[static_cast<std::size_t>(mutant.target.buffer)];
  return buffer.name == "x slots" && kernel.program.grid[2] > 1;
}

}  // namespace

std::string why_equivalent(const Kernel& kernel, const Mutant& mutant) {
  if (weakens_second_round(kernel, mutant)) {
    return "second round: no device leaves a call before all have entered it, as it needs their "
           "rows, so that the first round alone cannot be passed too early";
  }
  if (exchanges_sides(mutant) && awaits_both_sides_together(kernel)) {
    return "sides awaited together: both waits take the same bytes of the same two copies";
  }
  if (shares_x_slot_between_k_blocks(kernel, mutant)) {
    return "k blocks apart: a load and the product beside it are of different k blocks";
  }
  return "";
}

}  // namespace cmm::tpu
