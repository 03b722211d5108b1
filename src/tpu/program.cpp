#include "tpu/program.hpp"

#include <array>
#include <utility>
#include <variant>

#include "base/text.hpp"
#include "tpu/shapes.hpp"
#include "tpu/text.hpp"

namespace cmm::tpu {
namespace {

std::string_view role_name(Role role) {
  constexpr std::array<std::string_view, 3> kNames = {"input", "output", "scratch"};
  return kNames[static_cast<std::size_t>(role)];
}
std::string_view semaphore_kind_name(SemaphoreKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"dma", "regular", "barrier"};
  return kNames[static_cast<std::size_t>(kind)];
}

template <class SomeBlock, class Visit>
void visit_block(SomeBlock& block, const Visit& visit, int& number) {
  for (auto& statement : block) {
    visit(statement, number++);
    if (auto* body = body_of(statement)) visit_block(*body, visit, number);
  }
}

class ProgramText {
 public:
  explicit ProgramText(const Program& program) : program_(program), writer_(program) {}

  std::string write() {
    add(0, cat("kernel ", program_.name, ", one of ", program_.num_devices, " devices",
               program_.collective_id ? cat(", collective id ", *program_.collective_id) : ""));
    for (const Buffer& buffer : program_.buffers) {
      add(1, cat(role_name(buffer.role), " ", buffer.name, ": ", element_name(buffer.element), " ",
                 shape_text(buffer.shape), " in ", memory_name(buffer.memory)));
    }
    for (const SemaphoreArray& semaphore : program_.semaphores) {
      add(1, cat("semaphore ", semaphore.name, ": ", semaphore_kind_name(semaphore.kind), " ",
                 shape_text(semaphore.shape)));
    }
    if (!program_.grid.empty()) add(1, "grid " + shape_text(program_.grid));
    for (const auto& [name, text] : writer_.names()) add(1, cat(name, ": ", text));
    block(1, program_.body, -1);
    return std::move(text_);
  }

 private:
  void add(int depth, const std::string& line) {
    text_ += std::string(static_cast<std::size_t>(2 * depth), ' ') + line + "\n";
  }
  // A note stands where it begins, not at each statement that bears it.
  void block(int depth, const Block& statements, int note) {
    for (const Statement& statement : statements) {
      const bool told = statement.note == note;
      add(depth, writer_.line(statement) + (told ? "" : writer_.note(statement)));
      note = statement.note;
      if (const Block* body = body_of(statement)) block(depth + 1, *body, note);
    }
  }

  const Program& program_;
  TextWriter writer_;
  std::string text_;
};

}  // namespace

const Block* body_of(const Statement& statement) {
  if (const auto* branch = std::get_if<If>(&statement.what)) return &branch->then;
  if (const auto* loop = std::get_if<For>(&statement.what)) return &loop->body;
  if (const auto* scope = std::get_if<Scope>(&statement.what)) return &scope->body;
  return nullptr;
}
Block* body_of(Statement& statement) {
  return const_cast<Block*>(body_of(std::as_const(statement)));
}

void for_each_statement(Block& block, const std::function<void(Statement&, int)>& visit) {
  int number = 0;
  visit_block(block, visit, number);
}
void for_each_statement(const Block& block,
                        const std::function<void(const Statement&, int)>& visit) {
  int number = 0;
  visit_block(block, visit, number);
}

std::string to_text(const Program& program) { return ProgramText(program).write(); }

std::int64_t vmem_bytes(const Program& program, const Chip& chip) {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : program.buffers) {
    const bool counts = buffer.role == Role::kScratch && buffer.memory == Memory::kVmem;
    if (counts) bytes += padded_bytes(buffer, chip);
  }
  return bytes;
}

std::int64_t num_semaphores(const Program& program) {
  std::int64_t count = 0;
  for (const SemaphoreArray& array : program.semaphores) {
    if (array.kind != SemaphoreKind::kBarrier) count += num_elements(array.shape);
  }
  return count;
}

}  // namespace cmm::tpu
