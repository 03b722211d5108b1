// Statements in words, for to_text() and for the texts of faults.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tpu/program.hpp"

namespace cmm::tpu {

// "[8, 128]"
std::string shape_text(const std::vector<std::int64_t>& shape);
std::string_view memory_name(Memory memory);

// Writes what stands in one program; keeps a reference to it.
class TextWriter {
 public:
  explicit TextWriter(const Program& program);

  // "(device + 1) % 4". Long expressions that others are made of are named: "t17", see names().
  const std::string& scalar(Scalar scalar) const;
  // The names of long expressions, in order: {"t17", "x * (y + z) ..."}.
  const std::vector<std::pair<std::string, std::string>>& names() const { return names_; }
  std::string slice(const Slice& slice) const;
  std::string semaphore(const SemaphoreRef& semaphore) const;
  // The first line of a statement, without its note and without what its body holds.
  std::string line(const Statement& statement) const;
  // " (note)" or nothing.
  std::string note(const Statement& statement) const;

 private:
  const Program& program_;
  std::vector<std::string> scalars_;  // by number
  std::vector<std::pair<std::string, std::string>> names_;
};

}  // namespace cmm::tpu
