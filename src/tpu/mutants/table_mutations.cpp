#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "tpu/mutants/changes.hpp"
#include "tpu/mutants/table.hpp"

namespace cmm::tpu {

std::vector<Mutation> table_mutations(const Kernel& kernel) {
  std::vector<TableWord> words;
  std::map<std::string, std::int32_t> largest;
  for (int i = 0; i < static_cast<int>(kernel.table.size()); ++i) {
    const TableWord& word = words.emplace_back(table_word(kernel, i));
    std::int32_t& most = largest[word.name];
    most = std::max(most, word.value);
  }
  std::vector<Mutation> mutations;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& [row, name, value] = words[i];
    if (name.empty() || value < 0) continue;
    MutantTarget target;
    target.word = static_cast<int>(i);
    std::set<std::int32_t> others = {-1, value - 1};
    if (value < largest[name]) others.insert(value + 1);
    for (const std::int32_t other : others) {
      mutations.push_back(
          {.kind = other == -1 ? MutantKind::kTableDrop : MutantKind::kTableEntry,
           .name = cat("step ", row, ", ", name, ": ", other, " instead of ", value),
           .target = target,
           .apply = [i, other](Kernel& changed) { changed.table[i] = other; }});
    }
  }
  return mutations;
}

}  // namespace cmm::tpu
