// The table of a kernel by the names of its words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tpu/kernels/kernel.hpp"

namespace cmm::tpu {

struct TableWord {
  int row = 0;
  std::string name;  // of its field; "": the row's step does not read it
  std::int32_t value = 0;
};
TableWord table_word(const Kernel& kernel, int index);
int num_rows(const Kernel& kernel);

// Of the word with this name in the row, where the row has one.
std::optional<std::int32_t> word_in_row(const Kernel& kernel, int row, const std::string& name);
std::int32_t largest_word(const Kernel& kernel, const std::string& name);

// Whether every copy to a neighbour fills one side of an x slot, or none goes there.
bool pieces_fill_sides(const Kernel& kernel);

}  // namespace cmm::tpu
