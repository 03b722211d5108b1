#include "tpu/mutants/table.hpp"

#include <algorithm>
#include <variant>

#include "tpu/mutants/edit.hpp"

namespace cmm::tpu {
namespace {

std::int32_t at(const Kernel& kernel, int row, int column) {
  return kernel.table[static_cast<std::size_t>(row * kernel.table_layout.width + column)];
}

bool counts(const Kernel& kernel, int row, const TableLayout::Field& field) {
  return field.body < 0 || field.body == at(kernel, row, kernel.table_layout.body_at);
}

}  // namespace

int num_rows(const Kernel& kernel) {
  return kernel.table.empty() ? 0
                              : static_cast<int>(kernel.table.size()) / kernel.table_layout.width;
}

TableWord table_word(const Kernel& kernel, int index) {
  const TableLayout& layout = kernel.table_layout;
  TableWord word = {.row = index / layout.width,
                    .name = "",
                    .value = kernel.table[static_cast<std::size_t>(index)]};
  for (const TableLayout::Field& field : layout.fields) {
    if (field.at == index % layout.width && counts(kernel, word.row, field)) word.name = field.name;
  }
  return word;
}

std::optional<std::int32_t> word_in_row(const Kernel& kernel, int row, const std::string& name) {
  for (const TableLayout::Field& field : kernel.table_layout.fields) {
    if (field.name == name && counts(kernel, row, field)) return at(kernel, row, field.at);
  }
  return std::nullopt;
}

std::int32_t largest_word(const Kernel& kernel, const std::string& name) {
  std::int32_t largest = -1;
  for (int row = 0; row < num_rows(kernel); ++row) {
    largest = std::max(largest, word_in_row(kernel, row, name).value_or(-1));
  }
  return largest;
}

bool pieces_fill_sides(const Kernel& kernel) {
  bool fill = true;
  Program program = kernel.program;
  for_each_statement(program.body, [&](Statement& statement, int) {
    const auto* copy = std::get_if<StartCopy>(&statement.what);
    if (copy == nullptr || !copy->remote) return;
    const Slice& target = copy->target;
    const Buffer& buffer = program.buffers[static_cast<std::size_t>(target.buffer)];
    fill = fill && target.num_squeezed == 1 && target.sizes[1] == buffer.shape[1];
  });
  return fill;
}

}  // namespace cmm::tpu
