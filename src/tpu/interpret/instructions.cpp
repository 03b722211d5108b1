#include "tpu/interpret/instructions.hpp"

#include <variant>

namespace cmm::tpu {
namespace {

void flatten(const Block& block, std::vector<Instruction>& to) {
  const auto next = [&to] { return static_cast<int>(to.size()); };
  for (const Statement& statement : block) {
    const int begin = next();
    if (const auto* branch = std::get_if<If>(&statement.what)) {
      to.push_back({Instruction::Kind::kIf, &statement, -1});
      flatten(branch->then, to);
      to[static_cast<std::size_t>(begin)].target = next();
    } else if (const auto* loop = std::get_if<For>(&statement.what)) {
      to.push_back({Instruction::Kind::kLoopBegin, &statement, -1});
      flatten(loop->body, to);
      to.push_back({Instruction::Kind::kLoopEnd, &statement, begin + 1});
      to[static_cast<std::size_t>(begin)].target = next();
    } else if (const auto* scope = std::get_if<Scope>(&statement.what)) {
      flatten(scope->body, to);
    } else {
      to.push_back({Instruction::Kind::kStatement, &statement, -1});
    }
  }
}

}  // namespace

std::vector<Instruction> flatten(const Program& program) {
  std::vector<Instruction> instructions;
  flatten(program.body, instructions);
  instructions.push_back({Instruction::Kind::kEnd, nullptr, -1});
  return instructions;
}

}  // namespace cmm::tpu
