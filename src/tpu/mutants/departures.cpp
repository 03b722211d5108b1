#include "tpu/mutants/departures.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "tpu/mutants/edit.hpp"
#include "tpu/mutants/table.hpp"

namespace cmm::tpu {
namespace {

using Counts = std::map<int, int>;  // of departures, by semaphore

// The send that a mutant of one statement changes.
struct ChangedSend {
  std::string side;  // "forward"
  std::string lane;  // "send forward 0"
  bool own = false;  // of the input x
  int by = 0;        // to the semaphore's number
  int num_semaphores = 0;
};

std::optional<ChangedSend> changed_send(const Kernel& kernel, const Mutant& mutant) {
  if (mutant.kind != MutantKind::kSemaphore || mutant.target.statement < 0) return std::nullopt;
  const Program& program = kernel.program;
  const Statement statement = statement_at(program, mutant.target.statement);
  const auto* copy = std::get_if<StartCopy>(&statement.what);
  if (copy == nullptr || !copy->remote || statement.note < 0) return std::nullopt;
  const auto& array = program.semaphores[static_cast<std::size_t>(copy->remote->departure.array)];
  if (!mutant.name.ends_with(" of " + array.name)) return std::nullopt;
  const std::string& note = program.notes[static_cast<std::size_t>(statement.note)];
  ChangedSend send;
  send.lane = note.substr(0, note.find(':'));
  send.side = send.lane.find("forward") != std::string::npos ? "forward" : "backward";
  send.own = program.buffers[static_cast<std::size_t>(copy->source.buffer)].role == Role::kInput;
  send.by = mutant.name.find("index - 1") != std::string::npos ? -1 : 1;
  send.num_semaphores = static_cast<int>(array.shape[0]);
  return send;
}

bool starts_of(const std::string& name, const std::string& prefix, const char* suffix) {
  return name.starts_with(prefix) && name.ends_with(suffix);
}

// What is left for the end of the kernel; nothing where a wait in the table finds none.
std::optional<Counts> replay(const Kernel& kernel, const ChangedSend& send, bool changed) {
  Counts counts;
  const int width = kernel.table_layout.width;
  for (int index = 0; index < static_cast<int>(kernel.table.size()); ++index) {
    const TableWord word = table_word(kernel, index);
    if (word.value < 0) continue;
    if (starts_of(word.name, "await departure " + send.side, ": semaphore")) {
      if (counts[word.value]-- == 0) return std::nullopt;
    }
    if (!starts_of(word.name, "send " + send.side, ": departure")) continue;
    const std::string lane = word.name.substr(0, word.name.find(':'));
    const int row = index / width;
    // The own rows are at hop 0, or in no slot.
    const auto slot = word_in_row(kernel, row, lane + ": slot");
    const bool own = slot ? *slot < 0 : word_in_row(kernel, row, lane + ": hop") == 0;
    const bool moves = changed && lane == send.lane && own == send.own;
    const int by = moves ? send.by + send.num_semaphores : 0;
    ++counts[(word.value + by) % send.num_semaphores];
  }
  std::erase_if(counts, [](const auto& count) { return count.second == 0; });
  return counts;
}

}  // namespace

bool exchanges_departures(const Kernel& kernel, const Mutant& mutant) {
  const auto& arrays = kernel.program.semaphores;
  const bool credits = std::any_of(arrays.begin(), arrays.end(), [](const SemaphoreArray& array) {
    return array.kind == SemaphoreKind::kRegular && !array.shape.empty();
  });
  if (credits || kernel.table.empty()) return false;
  const std::optional<ChangedSend> send = changed_send(kernel, mutant);
  if (!send) return false;
  const std::optional<Counts> changed = replay(kernel, *send, true);
  return changed && changed == replay(kernel, *send, false);
}

bool exchanges_stores(const Kernel& kernel, const Mutant& mutant) {
  if (mutant.kind != MutantKind::kSemaphore || mutant.target.statement < 0) return false;
  const Program& program = kernel.program;
  const Statement statement = statement_at(program, mutant.target.statement);
  const auto* copy = std::get_if<StartCopy>(&statement.what);
  if (copy == nullptr || copy->remote || statement.note < 0) return false;
  const std::string& note = program.notes[static_cast<std::size_t>(statement.note)];
  const bool of_x = note.starts_with("store x");
  if (!of_x && !note.starts_with("store of body ")) return false;
  // "store x 0: slot", or of "store of body 0: ..." the word "product of body 0: out slot".
  const std::string lane =
      of_x ? note.substr(0, note.find(':')) : "product" + note.substr(5, note.find(':') - 5);
  std::set<std::int32_t> stored;
  for (int row = 0; row < num_rows(kernel); ++row) {
    const auto slot = word_in_row(kernel, row, lane + (of_x ? ": slot" : ": out slot"));
    if (slot && *slot >= 0 && !stored.insert(*slot).second) return false;
  }
  const auto& array = program.semaphores[static_cast<std::size_t>(copy->arrival.array)];
  return static_cast<std::int64_t>(stored.size()) == array.shape[0];
}

}  // namespace cmm::tpu
