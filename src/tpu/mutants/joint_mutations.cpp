#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <variant>

#include "base/text.hpp"
#include "tpu/mutants/changes.hpp"

namespace cmm::tpu {
namespace {

bool uses_semaphore(const Statement& statement, int array) {
  if (const auto* signal = std::get_if<Signal>(&statement.what)) {
    return signal->semaphore.array == array;
  }
  const auto* await = std::get_if<Await>(&statement.what);
  return await != nullptr && await->semaphore.array == array;
}

Mutation without_rounds(const Program& program, const std::vector<int>& arrays) {
  std::string names;
  for (const int array : arrays) {
    names +=
        (names.empty() ? "" : " and ") + program.semaphores[static_cast<std::size_t>(array)].name;
  }
  MutantTarget target;
  target.semaphores = arrays;
  return {.kind = MutantKind::kDropRound,
          .name = cat("all signals and waits of ", names, " left out"),
          .target = target,
          .apply = [arrays](Kernel& kernel) {
            drop_statements(kernel.program, [&](const Statement& statement, int) {
              return std::any_of(arrays.begin(), arrays.end(),
                                 [&](int array) { return uses_semaphore(statement, array); });
            });
          }};
}

void add_rounds(const Program& program, std::vector<Mutation>& mutations) {
  std::vector<int> entry;  // single ones: the barrier and the second round
  for (int i = 0; i < static_cast<int>(program.semaphores.size()); ++i) {
    const SemaphoreArray& array = program.semaphores[static_cast<std::size_t>(i)];
    if (array.kind == SemaphoreKind::kDma) continue;
    mutations.push_back(without_rounds(program, {i}));
    if (array.shape.empty()) entry.push_back(i);
  }
  if (entry.size() > 1) mutations.push_back(without_rounds(program, entry));
}

void add_neighbours(const Kernel& kernel, std::vector<Mutation>& mutations) {
  if (kernel.ring.size() <= 2) return;
  mutations.push_back({.kind = MutantKind::kNeighbour,
                       .name = "every copy and signal to the other neighbour",
                       .apply = [](Kernel& changed) {
                         rewrite(changed.program, [&](Builder& builder, Program& program) {
                           for_each_statement(program.body, [&](Statement& statement, int) {
                             if (device_of(statement) != nullptr) {
                               exchange_neighbours(builder, changed.ring, statement);
                             }
                           });
                         });
                       }});
}

// Dimensions of buffers along which every slice has one slot.
void add_fewer_slots(const Kernel& kernel, std::vector<Mutation>& mutations) {
  Program program = kernel.program;
  for (int buffer = 0; buffer < static_cast<int>(program.buffers.size()); ++buffer) {
    const Buffer& of = program.buffers[static_cast<std::size_t>(buffer)];
    for (std::size_t d = 0; d < of.shape.size(); ++d) {
      bool slots = of.shape[d] >= 2;
      for_each_statement(program.body, [&](Statement& statement, int) {
        for (const Slice* slice : accessed_slices(statement)) {
          slots = slots && (slice->buffer != buffer || static_cast<int>(d) < slice->num_squeezed);
        }
      });
      if (!slots) continue;
      const std::int64_t fewer = of.shape[d] - 1;
      MutantTarget target;
      target.buffer = buffer;
      mutations.push_back({.kind = MutantKind::kFewerSlots,
                           .name = cat(of.name, " in ", fewer, " slots in turn, not ", of.shape[d]),
                           .target = target,
                           .apply = [buffer, d, fewer](Kernel& changed) {
                             rewrite(changed.program, [&](Builder& builder, Program& open) {
                               for_each_statement(open.body, [&](Statement& statement, int) {
                                 for (Slice* slice : accessed_slices(statement)) {
                                   if (slice->buffer != buffer) continue;
                                   slice->offsets[d] =
                                       builder.rem(slice->offsets[d], builder.constant(fewer));
                                 }
                               });
                             });
                           }});
    }
  }
}

struct Effects {
  bool waits = false;
  bool starts = false;
};
Effects effects_of(Statement& statement) {
  Effects effects;
  effects.waits = std::holds_alternative<AwaitCopy>(statement.what) ||
                  std::holds_alternative<Await>(statement.what);
  effects.starts = std::holds_alternative<StartCopy>(statement.what) ||
                   std::holds_alternative<Signal>(statement.what);
  if (Block* body = body_of(statement)) {
    for (Statement& inner : *body) {
      const Effects of_inner = effects_of(inner);
      effects.waits |= of_inner.waits;
      effects.starts |= of_inner.starts;
    }
  }
  return effects;
}

// Places (block, wait, start): a wait, and the next statement that does more than read a scalar,
// which starts something.
void find_waits_before_starts(Block& block,
                              const std::function<void(Block&, std::size_t, std::size_t)>& found) {
  std::size_t wait = block.size();
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (Block* body = body_of(block[i])) find_waits_before_starts(*body, found);
    if (std::holds_alternative<ReadScalar>(block[i].what)) continue;
    const Effects effects = effects_of(block[i]);
    if (wait < block.size() && effects.starts && !effects.waits) found(block, wait, i);
    wait = effects.waits && !effects.starts ? i : block.size();
  }
}

std::vector<int> awaited(Statement& statement) {
  std::vector<int> arrays;
  for (const SemaphoreRef* semaphore : semaphores_of(statement)) {
    arrays.push_back(semaphore->array);
  }
  if (Block* body = body_of(statement)) {
    for (Statement& inner : *body) {
      const std::vector<int> of_inner = awaited(inner);
      arrays.insert(arrays.end(), of_inner.begin(), of_inner.end());
    }
  }
  return arrays;
}

void add_orders(const Kernel& kernel, const std::vector<bool>& is_run,
                std::vector<Mutation>& mutations) {
  Program program = kernel.program;
  const TextWriter writer(kernel.program);
  std::map<const Statement*, int> numbers;
  for_each_statement(program.body,
                     [&](Statement& statement, int number) { numbers[&statement] = number; });
  // A wait or start in an If or Scope stands for what is in it.
  const auto innermost = [](Statement& statement) {
    Statement* inner = &statement;
    while (Block* body = body_of(*inner)) inner = &body->front();
    return inner;
  };
  int place = -1;
  find_waits_before_starts(program.body, [&](Block& block, std::size_t wait, std::size_t start) {
    ++place;
    const Statement* const waits = innermost(block[wait]);
    const Statement* const starts = innermost(block[start]);
    const int number = numbers[starts];
    if (!is_run[static_cast<std::size_t>(number)] ||
        !is_run[static_cast<std::size_t>(numbers[waits])]) {
      return;
    }
    MutantTarget target;
    target.statement = number;
    target.semaphores = awaited(block[wait]);
    mutations.push_back(
        {.kind = MutantKind::kOrder,
         .name = cat(short_text(writer, program, *starts), ", statement ", number, ": before ",
                     short_text(writer, program, *waits)),
         .target = target,
         .apply = [place](Kernel& changed) {
           int at = 0;
           find_waits_before_starts(
               changed.program.body, [&](Block& open, std::size_t from, std::size_t to) {
                 if (at++ != place) return;
                 const auto first = open.begin() + static_cast<std::ptrdiff_t>(from);
                 std::rotate(first, first + 1, open.begin() + static_cast<std::ptrdiff_t>(to) + 1);
               });
         }});
  });
}

}  // namespace

std::vector<Mutation> joint_mutations(const Kernel& kernel, const std::vector<bool>& is_run) {
  std::vector<Mutation> mutations;
  add_rounds(kernel.program, mutations);
  add_neighbours(kernel, mutations);
  add_fewer_slots(kernel, mutations);
  add_orders(kernel, is_run, mutations);
  return mutations;
}

}  // namespace cmm::tpu
