// Which mutants change nothing, by rules that docs/tpu.md argues one by one.
#include <algorithm>
#include <variant>

#include "tpu/mutants.hpp"
#include "tpu/mutants/departures.hpp"
#include "tpu/mutants/edit.hpp"
#include "tpu/mutants/table.hpp"
#include "tpu/mutants/x_slots.hpp"

namespace cmm::tpu {
namespace {

const SemaphoreArray& array_of(const Program& program, int number) {
  return program.semaphores[static_cast<std::size_t>(number)];
}

// The one of the entry's two semaphores that is the kernel's own.
bool is_second_round(const Program& program, int array) {
  const SemaphoreArray& of = array_of(program, array);
  return of.kind == SemaphoreKind::kRegular && of.shape.empty();
}

bool weakens_second_round(const Kernel& kernel, const Mutant& mutant) {
  const Program& program = kernel.program;
  const std::vector<int>& arrays = mutant.target.semaphores;
  const bool weakens_order =
      mutant.kind == MutantKind::kDropRound || mutant.kind == MutantKind::kOrder;
  if (weakens_order) {
    return std::all_of(arrays.begin(), arrays.end(),
                       [&](int array) { return is_second_round(program, array); });
  }
  if (mutant.kind != MutantKind::kNeighbour || mutant.target.statement < 0) return false;
  const Statement statement = statement_at(kernel.program, mutant.target.statement);
  const auto* signal = std::get_if<Signal>(&statement.what);
  return signal != nullptr && is_second_round(program, signal->semaphore.array);
}

// Of the reference kernel, whose grid is [P + 2, grid_n, grid_k].
bool is_fewer_of(const Kernel& kernel, const Mutant& mutant, const char* name) {
  if (mutant.kind != MutantKind::kFewerSlots || kernel.program.grid.size() != 3) return false;
  return kernel.program.buffers[static_cast<std::size_t>(mutant.target.buffer)].name == name;
}
bool shares_x_slot_between_k_blocks(const Kernel& kernel, const Mutant& mutant) {
  return is_fewer_of(kernel, mutant, "x slots") && kernel.program.grid[2] > 1;
}
bool keeps_three_hops(const Kernel& kernel, const Mutant& mutant) {
  return is_fewer_of(kernel, mutant, "received x") && kernel.ring.size() - 2 >= 3;
}

// Whether the copies that raise a semaphore of the array are all local and share no buffer with
// `start`; or the array counts credits, and `start` does not go where they come from.
bool start_needs_no_wait(const Kernel& kernel, const StartCopy& start,
                         const SemaphoreRef& awaited) {
  bool needs = false;
  Program program = kernel.program;
  for_each_statement(program.body, [&](Statement& statement, int) {
    if (const auto* copy = std::get_if<StartCopy>(&statement.what)) {
      const bool raises = copy->arrival.array == awaited.array ||
                          (copy->remote && copy->remote->departure.array == awaited.array);
      if (!raises) return;
      for (const int buffer : {copy->source.buffer, copy->target.buffer}) {
        needs |= buffer == start.source.buffer || buffer == start.target.buffer;
      }
      needs |= copy->remote.has_value();
    }
    // A signal sent one way comes from the other.
    if (const auto* signal = std::get_if<Signal>(&statement.what)) {
      if (signal->semaphore.array != awaited.array) return;
      const bool same = signal->semaphore.index == awaited.index;
      needs |= !start.remote || (same && signal->device != start.remote->device);
    }
  });
  return !needs;
}

bool has_credits(const Program& program) {
  return std::any_of(program.semaphores.begin(), program.semaphores.end(),
                     [](const SemaphoreArray& array) {
                       return array.kind == SemaphoreKind::kRegular && !array.shape.empty();
                     });
}

// "send forward", "await arrival backward": the first words of the note.
bool is_noted(const Program& program, const Statement& statement, const std::string& words) {
  return statement.note >= 0 &&
         program.notes[static_cast<std::size_t>(statement.note)].starts_with(words);
}

// Where no slot is filled twice, a piece that is sent on needs to have come, and nothing else.
bool sends_other_way(const Kernel& kernel, const Statement& start, const Statement& wait) {
  const Program& program = kernel.program;
  if (kernel.table.empty() || has_credits(program)) return false;
  return (is_noted(program, start, "send forward") &&
          is_noted(program, wait, "await arrival backward")) ||
         (is_noted(program, start, "send backward") &&
          is_noted(program, wait, "await arrival forward"));
}

bool moves_start_before_wait_of_others(const Kernel& kernel, const Mutant& mutant) {
  if (mutant.kind != MutantKind::kOrder || mutant.target.starts.empty()) return false;
  for (const int started : mutant.target.starts) {
    const Statement other = statement_at(kernel.program, started);
    const auto* start = std::get_if<StartCopy>(&other.what);
    if (start == nullptr) return false;
    for (const int awaited : mutant.target.waits) {
      Statement wait = statement_at(kernel.program, awaited);
      if (!sends_other_way(kernel, other, wait) &&
          !start_needs_no_wait(kernel, *start, *semaphores_of(wait)[0])) {
        return false;
      }
    }
  }
  return true;
}

// Hops are counted modulo P: of one device there is only one, and -1 is the last one where nothing
// travels backward.
bool names_the_same_hop(const Kernel& kernel, const Mutant& mutant) {
  if (mutant.target.word < 0) return false;
  const TableWord word = table_word(kernel, mutant.target.word);
  if (word.name.find(": hop") == std::string::npos) return false;
  const std::int32_t changed = mutant.make().table[static_cast<std::size_t>(mutant.target.word)];
  const auto& fields = kernel.table_layout.fields;
  const bool backward = std::any_of(fields.begin(), fields.end(), [](const auto& field) {
    return field.name.starts_with("send backward");
  });
  return changed == -1 && word.value == kernel.ring.size() - 1 && !backward;
}

// The k block of a product says whether it is the first or the last, and no more.
bool keeps_first_and_last_k_block(const Kernel& kernel, const Mutant& mutant) {
  if (mutant.target.word < 0) return false;
  const TableWord word = table_word(kernel, mutant.target.word);
  if (!word.name.starts_with("product of body ") || !word.name.ends_with(": k block")) return false;
  const std::int32_t changed = mutant.make().table[static_cast<std::size_t>(mutant.target.word)];
  const std::int32_t last = largest_word(kernel, word.name);
  // Of two blocks, the one that is not the last is the first.
  const auto is_first = [&](std::int32_t block) { return last > 1 && block == 0; };
  return changed <= last && word.value != last && changed != last &&
         is_first(word.value) == is_first(changed);
}

// What has come is sent on out of its slot; where a slot's side is one piece, whichever it is.
bool renames_only_piece_of_slot(const Kernel& kernel, const Mutant& mutant) {
  if (mutant.kind != MutantKind::kTableEntry) return false;
  const TableWord word = table_word(kernel, mutant.target.word);
  if (!word.name.starts_with("send ") || !word.name.ends_with(": piece")) return false;
  const std::string lane = word.name.substr(0, word.name.find(':'));
  const auto slot = word_in_row(kernel, word.row, lane + ": slot");
  return slot && *slot >= 0 && pieces_fill_sides(kernel);
}

}  // namespace

std::string why_equivalent(const Kernel& kernel, const Mutant& mutant) {
  if (weakens_second_round(kernel, mutant)) {
    return "second round: no device leaves a call before all have entered it, as it needs their "
           "rows, so that the first round alone cannot be passed too early";
  }
  if (shares_x_slot_between_k_blocks(kernel, mutant)) {
    return "k blocks apart: a load and the product beside it are of different k blocks";
  }
  if (keeps_three_hops(kernel, mutant)) {
    return "three hops: a neighbour that starts a hop has been sent the hop before, by when this "
           "device was done with what came three hops before";
  }
  if (moves_start_before_wait_of_others(kernel, mutant)) {
    return "wait of others: what is started touches nothing that the wait is for";
  }
  if (names_the_same_hop(kernel, mutant)) {
    return "same hop: hops are counted modulo P";
  }
  if (exchanges_departures(kernel, mutant)) {
    return "departures exchanged: as many waits meet as many departures, and no slot is filled "
           "again that one of them guards";
  }
  if (exchanges_stores(kernel, mutant)) {
    return "stores exchanged: each out slot is stored once, and the end waits for all";
  }
  if (keeps_first_and_last_k_block(kernel, mutant)) {
    return "k block in between: a product asks only whether its k block is the first or the last";
  }
  if (renames_only_piece_of_slot(kernel, mutant)) {
    return "one piece a side: what is sent on is all of the slot's side, whichever piece it is";
  }
  if (reads_the_same_rows(kernel, mutant)) {
    return "same rows: they lie in both slots";
  }
  if (loads_after_last_products(kernel, mutant)) {
    return "slots enough: a load comes after the last product of what it overwrites";
  }
  return "";
}

}  // namespace cmm::tpu
