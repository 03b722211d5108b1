#include "tpu/mutants/edit.hpp"

#include <utility>
#include <variant>

#include "base/text.hpp"

namespace cmm::tpu {
namespace {

void drop_from(Block& block, const Which& which, int& number) {
  Block kept;
  for (Statement& statement : block) {
    const bool drop = which(statement, number++);
    if (Block* body = body_of(statement)) drop_from(*body, which, number);
    if (!drop) kept.push_back(std::move(statement));
  }
  block = std::move(kept);
}

const std::string& name_of(const Program& program, const Slice& slice) {
  return program.buffers[static_cast<std::size_t>(slice.buffer)].name;
}

}  // namespace

Statement statement_at(const Program& program, int number) {
  Statement found;
  for_each_statement(program.body, [&](const Statement& statement, int at) {
    if (at == number) found = statement;
  });
  return found;
}

void drop_statements(Program& program, const Which& which) {
  int number = 0;
  drop_from(program.body, which, number);
}

void rewrite(Program& program, const std::function<void(Builder&, Program&)>& change) {
  Builder builder("");
  builder.program() = std::move(program);
  change(builder, builder.program());
  program = builder.finish();
}

void rewrite_statement(Program& program, int number, const Change& change) {
  rewrite(program, [&](Builder& builder, Program& open) {
    for_each_statement(open.body, [&](Statement& statement, int at) {
      if (at == number) change(builder, statement);
    });
  });
}

std::vector<Slice*> accessed_slices(Statement& statement) {
  if (auto* copy = std::get_if<StartCopy>(&statement.what)) return {&copy->source, &copy->target};
  if (auto* load = std::get_if<LoadVector>(&statement.what)) return {&load->from};
  if (auto* store = std::get_if<StoreVector>(&statement.what)) return {&store->to};
  return {};
}

std::vector<SemaphoreRef*> semaphores_of(Statement& statement) {
  if (auto* copy = std::get_if<StartCopy>(&statement.what)) {
    if (copy->remote) return {&copy->arrival, &copy->remote->departure};
    return {&copy->arrival};
  }
  if (auto* await = std::get_if<AwaitCopy>(&statement.what)) return {&await->semaphore};
  if (auto* signal = std::get_if<Signal>(&statement.what)) return {&signal->semaphore};
  if (auto* await = std::get_if<Await>(&statement.what)) return {&await->semaphore};
  return {};
}

Scalar* device_of(Statement& statement) {
  if (auto* copy = std::get_if<StartCopy>(&statement.what)) {
    return copy->remote ? &copy->remote->device : nullptr;
  }
  auto* signal = std::get_if<Signal>(&statement.what);
  return signal != nullptr && signal->device.known() ? &signal->device : nullptr;
}

Scalar wrapped(Builder& builder, Scalar scalar, std::int64_t by, std::int64_t extent) {
  const std::int64_t forward = (by % extent + extent) % extent;
  return builder.rem(builder.add(scalar, builder.constant(forward)), builder.constant(extent));
}

std::string short_text(const TextWriter& writer, const Program& program,
                       const Statement& statement) {
  const std::string text = [&]() -> std::string {
    if (const auto* copy = std::get_if<StartCopy>(&statement.what)) {
      return cat("copy ", name_of(program, copy->source), " -> ", name_of(program, copy->target),
                 copy->remote ? cat(" of device ", writer.scalar(copy->remote->device)) : "");
    }
    if (const auto* await = std::get_if<AwaitCopy>(&statement.what)) {
      return cat("await ", writer.semaphore(await->semaphore));
    }
    if (const auto* load = std::get_if<LoadVector>(&statement.what)) {
      return cat("load ", name_of(program, load->from));
    }
    if (const auto* store = std::get_if<StoreVector>(&statement.what)) {
      return cat("store ", name_of(program, store->to));
    }
    return writer.line(statement);
  }();
  return text + writer.note(statement);
}

}  // namespace cmm::tpu
