#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <variant>

#include "base/text.hpp"
#include "tpu/mutants/changes.hpp"
#include "tpu/mutants/x_slots.hpp"

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
  const std::string names = joined(arrays, " and ", [&](int array) {
    return program.semaphores[static_cast<std::size_t>(array)].name;
  });
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

// Slots lie along the first of three dimensions; what takes several at once takes its turn with as
// many. A buffer that nothing uses has none.
void add_fewer_slots(const Kernel& kernel, const std::vector<bool>& is_run,
                     std::vector<Mutation>& mutations) {
  Program program = kernel.program;
  for (int buffer = 0; buffer < static_cast<int>(program.buffers.size()); ++buffer) {
    const Buffer& of = program.buffers[static_cast<std::size_t>(buffer)];
    std::int64_t most = 0;
    for_each_statement(program.body, [&](Statement& statement, int number) {
      if (!is_run[static_cast<std::size_t>(number)]) return;
      for (const Slice* slice : accessed_slices(statement)) {
        if (slice->buffer == buffer) most = std::max(most, slice->sizes[0]);
      }
    });
    if (of.shape.size() != 3 || most == 0 || of.shape[0] < 2 * most) continue;
    if (of.name == "x slots" && fills_x_slots_once(kernel)) continue;
    if (leaves_last_out_slot(kernel, of.name)) continue;
    const std::int64_t fewer = of.shape[0] - most;
    MutantTarget target;
    target.buffer = buffer;
    mutations.push_back({.kind = MutantKind::kFewerSlots,
                         .name = cat(of.name, " as if it were ", fewer, " long, not ", of.shape[0]),
                         .target = target,
                         .apply = [buffer, fewer](Kernel& changed) {
                           rewrite(changed.program, [&](Builder& builder, Program& open) {
                             for_each_statement(open.body, [&](Statement& statement, int) {
                               for (Slice* slice : accessed_slices(statement)) {
                                 if (slice->buffer != buffer) continue;
                                 slice->offsets[0] =
                                     builder.rem(slice->offsets[0], builder.constant(fewer));
                               }
                             });
                           });
                         }});
  }
}

struct Effects {
  bool waits = false;
  bool starts = false;
  bool uses = false;  // loads or stores vectors
};
Effects effects_of(Statement& statement) {
  const auto& what = statement.what;
  Effects effects = {
      .waits = std::holds_alternative<AwaitCopy>(what) || std::holds_alternative<Await>(what),
      .starts = std::holds_alternative<StartCopy>(what) || std::holds_alternative<Signal>(what),
      .uses =
          std::holds_alternative<LoadVector>(what) || std::holds_alternative<StoreVector>(what)};
  if (Block* body = body_of(statement)) {
    for (Statement& inner : *body) {
      const Effects of_inner = effects_of(inner);
      effects.waits |= of_inner.waits;
      effects.starts |= of_inner.starts;
      effects.uses |= of_inner.uses;
    }
  }
  return effects;
}

// Places (block, wait, other): a wait, and the next statement that does more than read a scalar,
// which starts something or works with vectors.
void find_waits_before_others(Block& block,
                              const std::function<void(Block&, std::size_t, std::size_t)>& found) {
  std::size_t wait = block.size();
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (Block* body = body_of(block[i])) find_waits_before_others(*body, found);
    if (std::holds_alternative<ReadScalar>(block[i].what)) continue;
    const Effects effects = effects_of(block[i]);
    const bool does = effects.starts || effects.uses;
    if (wait < block.size() && does && !effects.waits) found(block, wait, i);
    wait = effects.waits && !does ? i : block.size();
  }
}

void add_orders(const Kernel& kernel, const std::vector<bool>& is_run,
                std::vector<Mutation>& mutations) {
  Program program = kernel.program;
  const TextWriter writer(kernel.program);
  std::map<const Statement*, int> numbers;
  for_each_statement(program.body,
                     [&](Statement& statement, int number) { numbers[&statement] = number; });
  // The first thing within an If or Scope that waits, starts or works with vectors stands for it.
  const std::function<Statement*(Statement&)> effect_of = [&](Statement& statement) -> Statement* {
    if (!semaphores_of(statement).empty() || !accessed_slices(statement).empty()) return &statement;
    if (Block* body = body_of(statement)) {
      for (Statement& inner : *body) {
        if (Statement* effect = effect_of(inner)) return effect;
      }
    }
    return nullptr;
  };
  int place = -1;
  find_waits_before_others(program.body, [&](Block& block, std::size_t wait, std::size_t other) {
    ++place;
    const Statement* const waits = effect_of(block[wait]);
    const Statement* const starts = effect_of(block[other]);
    const int number = numbers[starts];
    if (!is_run[static_cast<std::size_t>(number)] ||
        !is_run[static_cast<std::size_t>(numbers[waits])]) {
      return;
    }
    MutantTarget target;
    const auto add = [&](auto& self, Statement& statement, std::vector<int>& found) -> void {
      if (!semaphores_of(statement).empty()) found.push_back(numbers[&statement]);
      if (Block* body = body_of(statement)) {
        for (Statement& inner : *body) self(self, inner, found);
      }
    };
    add(add, block[wait], target.waits);
    if (!effects_of(block[other]).uses) add(add, block[other], target.starts);
    for (const int awaited : target.waits) {
      Statement statement = statement_at(program, awaited);
      target.semaphores.push_back(semaphores_of(statement)[0]->array);
    }
    mutations.push_back(
        {.kind = MutantKind::kOrder,
         .name = cat(short_text(writer, program, *starts), ", statement ", number, ": before ",
                     short_text(writer, program, *waits)),
         .target = target,
         .apply = [place](Kernel& changed) {
           int at = 0;
           find_waits_before_others(
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
  add_fewer_slots(kernel, is_run, mutations);
  add_orders(kernel, is_run, mutations);
  return mutations;
}

}  // namespace cmm::tpu
