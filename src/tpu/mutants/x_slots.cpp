#include "tpu/mutants/x_slots.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <variant>
#include <vector>

#include "base/text.hpp"
#include "tpu/mutants/edit.hpp"
#include "tpu/mutants/table.hpp"

namespace cmm::tpu {
namespace {

using Rows = std::vector<std::int32_t>;  // what is loaded: group, hop, k block and form

// Lanes of loads and of waits for them, by name; empty where x also comes into slots by itself.
std::vector<std::string> lanes_of(const Kernel& kernel, const std::string& prefix) {
  std::vector<std::string> lanes;
  for (const TableLayout::Field& field : kernel.table_layout.fields) {
    if (field.name.starts_with("send") && field.name.ends_with(": to slot")) return {};
    if (!field.name.starts_with(prefix) || !field.name.ends_with(": slot")) continue;
    lanes.push_back(field.name.substr(0, field.name.find(':')));
  }
  return lanes;
}

// A product takes one group out of one slot.
bool takes_one_slot(const Kernel& kernel) {
  bool one = true;
  Program program = kernel.program;
  for_each_statement(program.body, [&](Statement& statement, int) {
    const auto* load = std::get_if<LoadVector>(&statement.what);
    if (load == nullptr) return;
    const Buffer& buffer = program.buffers[static_cast<std::size_t>(load->from.buffer)];
    one = one && (buffer.name != "x slots" || load->from.sizes[0] == 2);
  });
  return one;
}

bool is_x_slot_of_product(const std::string& name) {
  return name.starts_with("product") && name.find(": x slot") != std::string::npos;
}

// What has been loaded and awaited, by slot, when the product of `row` begins.
std::map<std::int32_t, Rows> rows_in_slots(const Kernel& kernel, int row) {
  std::map<std::int32_t, Rows> loading, loaded;
  for (int at = 0; at <= row; ++at) {
    for (const std::string& lane : lanes_of(kernel, "load x")) {
      const auto slot = word_in_row(kernel, at, lane + ": slot");
      if (!slot || *slot < 0) continue;
      Rows& rows = loading[*slot];
      rows.clear();
      for (const char* word : {": group", ": hop", ": k block", ": form"}) {
        rows.push_back(word_in_row(kernel, at, lane + word).value_or(-1));
      }
      loaded.erase(*slot);
    }
    for (const std::string& lane : lanes_of(kernel, "await x")) {
      const auto slot = word_in_row(kernel, at, lane + ": slot");
      if (slot && *slot >= 0) loaded[*slot] = loading[*slot];
    }
  }
  return loaded;
}

}  // namespace

bool fills_x_slots_once(const Kernel& kernel) {
  // A side of a slot is filled by pieces that come, or by a load of both sides.
  std::set<std::tuple<std::string, std::int32_t, std::int32_t>> filled;
  for (int index = 0; index < static_cast<int>(kernel.table.size()); ++index) {
    const TableWord word = table_word(kernel, index);
    if (word.value < 0) continue;
    const bool loads = word.name.starts_with("load x") && word.name.ends_with(": slot");
    const bool sends = word.name.starts_with("send") && word.name.ends_with(": to slot");
    const std::string lane = word.name.substr(0, word.name.find(':'));
    const std::int32_t piece = word_in_row(kernel, word.row, lane + ": piece").value_or(-1);
    for (const char* side : {"forward", "backward"}) {
      const bool fills = loads || (sends && word.name.find(side) != std::string::npos);
      if (fills && !filled.emplace(side, word.value, piece).second) return false;
    }
  }
  return !filled.empty();
}

bool leaves_last_out_slot(const Kernel& kernel, const std::string& buffer) {
  const std::string prefix = "out slots of body ";
  if (kernel.table.empty() || !buffer.starts_with(prefix)) return false;
  const std::string body = buffer.substr(prefix.size());
  const auto& arrays = kernel.program.semaphores;
  const auto stored = std::find_if(arrays.begin(), arrays.end(), [&](const SemaphoreArray& array) {
    return array.name == "stored by body " + body;
  });
  const std::int32_t last = largest_word(kernel, "product of body " + body + ": out slot");
  return stored != arrays.end() && last + 1 < stored->shape[0];
}

bool reads_the_same_rows(const Kernel& kernel, const Mutant& mutant) {
  if (mutant.kind != MutantKind::kTableEntry || !takes_one_slot(kernel)) return false;
  const TableWord word = table_word(kernel, mutant.target.word);
  if (!is_x_slot_of_product(word.name)) return false;
  const std::map<std::int32_t, Rows> slots = rows_in_slots(kernel, word.row);
  const auto before = slots.find(word.value);
  const auto after = slots.find(mutant.make().table[static_cast<std::size_t>(mutant.target.word)]);
  return before != slots.end() && after != slots.end() && before->second == after->second;
}

bool loads_after_last_products(const Kernel& kernel, const Mutant& mutant) {
  if (mutant.kind != MutantKind::kFewerSlots || kernel.table.empty()) return false;
  const Buffer& buffer = kernel.program.buffers[static_cast<std::size_t>(mutant.target.buffer)];
  const std::vector<std::string> lanes = lanes_of(kernel, "load x");
  if (buffer.name != "x slots" || lanes.empty() || !takes_one_slot(kernel)) return false;
  const auto fewer = static_cast<std::int32_t>(buffer.shape[0] / 2 - 1);
  std::map<std::int32_t, std::int32_t> holds;  // which of the slots it stands for
  for (int row = 0; row < num_rows(kernel); ++row) {
    for (const std::string& lane : lanes) {
      const auto slot = word_in_row(kernel, row, lane + ": slot");
      if (slot && *slot >= 0) holds[*slot % fewer] = *slot;
    }
    for (int column = 0; column < kernel.table_layout.width; ++column) {
      const TableWord word = table_word(kernel, row * kernel.table_layout.width + column);
      if (!is_x_slot_of_product(word.name)) continue;
      if (holds[word.value % fewer] != word.value) return false;
    }
  }
  return true;
}

}  // namespace cmm::tpu
