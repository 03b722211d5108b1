#include <algorithm>
#include <variant>

#include "base/text.hpp"
#include "tpu/mutants/changes.hpp"
#include "tpu/shapes.hpp"

namespace cmm::tpu {
namespace {

// All mutations of one statement.
class OfStatement {
 public:
  OfStatement(const Kernel& kernel, const Chip& chip, Statement& statement)
      : kernel_(kernel), program_(kernel.program), chip_(chip), statement_(statement) {}

  struct Entry {
    MutantKind kind;
    std::string text;
    Change change;  // none: the statement is left out
  };
  std::vector<Entry> all() && {
    drops();
    neighbours();
    slots_and_offsets();
    semaphores();
    amounts();
    return std::move(entries_);
  }

 private:
  void add(MutantKind kind, std::string text, Change change) {
    entries_.push_back({kind, std::move(text), std::move(change)});
  }

  void drops() {
    const auto drop = [this](MutantKind kind) { add(kind, "left out", nullptr); };
    if (std::holds_alternative<StartCopy>(statement_.what)) drop(MutantKind::kDropStart);
    if (std::holds_alternative<AwaitCopy>(statement_.what)) drop(MutantKind::kDropAwait);
    if (std::holds_alternative<Await>(statement_.what)) drop(MutantKind::kDropAwait);
    if (std::holds_alternative<Signal>(statement_.what)) drop(MutantKind::kDropSignal);
    if (std::holds_alternative<StoreVector>(statement_.what)) drop(MutantKind::kDropStore);
  }

  void neighbours() {
    if (kernel_.ring.size() <= 2 || device_of(statement_) == nullptr) return;
    add(MutantKind::kNeighbour, "to the other neighbour",
        [ring = kernel_.ring](Builder& builder, Statement& statement) {
          exchange_neighbours(builder, ring, statement);
        });
  }

  // Squeezed dimensions are slots; along the others a slice has a place among whole tiles.
  void slots_and_offsets() {
    const std::vector<Slice*> slices = accessed_slices(statement_);
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const Slice& slice = *slices[i];
      const Buffer& buffer = program_.buffers[static_cast<std::size_t>(slice.buffer)];
      const char* of = slices.size() == 1 ? "" : i == 0 ? " of the source" : " of the target";
      for (std::size_t d = 0; d < slice.sizes.size(); ++d) {
        const bool slot = static_cast<int>(d) < slice.num_squeezed;
        const std::int64_t room = buffer.shape[d] - slice.sizes[d];
        const int tile = slot ? 1 : tile_along(buffer, static_cast<int>(d), chip_);
        if (room < tile) continue;
        const MutantKind kind = slot ? MutantKind::kSlot : MutantKind::kOffset;
        const std::int64_t extent = room + tile;
        for (const int by : steps(tile, extent)) {
          add(kind,
              cat(slot ? "slot " : "offset ", by < 0 ? "- " : "+ ", std::abs(by), " in dimension ",
                  d, of),
              [i, d, by, extent](Builder& builder, Statement& statement) {
                Scalar& offset = accessed_slices(statement)[i]->offsets[d];
                offset = wrapped(builder, offset, by, extent);
              });
        }
      }
    }
  }
  // One further and one back, where these are two.
  static std::vector<int> steps(int step, std::int64_t extent) {
    return 2 * step == extent ? std::vector{step} : std::vector{step, -step};
  }

  void semaphores() {
    const std::vector<SemaphoreRef*> refs = semaphores_of(statement_);
    for (std::size_t i = 0; i < refs.size(); ++i) {
      const auto& array = program_.semaphores[static_cast<std::size_t>(refs[i]->array)];
      for (std::size_t d = 0; d < array.shape.size(); ++d) {
        const std::int64_t extent = array.shape[d];
        if (extent < 2) continue;
        for (const int by : steps(1, extent)) {
          add(MutantKind::kSemaphore,
              cat("index ", by < 0 ? "- 1" : "+ 1", " in dimension ", d, " of ", array.name),
              [i, d, by, extent](Builder& builder, Statement& statement) {
                Scalar& index = semaphores_of(statement)[i]->index[d];
                index = wrapped(builder, index, by, extent);
              });
        }
      }
    }
  }

  static Scalar* amount_of(Statement& statement) {
    if (auto* signal = std::get_if<Signal>(&statement.what)) return &signal->amount;
    if (auto* await = std::get_if<Await>(&statement.what)) return &await->amount;
    return nullptr;
  }
  void amounts() {
    if (const Scalar* amount = amount_of(statement_)) {
      const ScalarNode& node = program_.scalars[static_cast<std::size_t>(amount->id)];
      for (const int by : {1, -1}) {
        // None at all is the statement left out.
        if (node.op == ScalarOp::kConstant && node.immediate + by == 0) continue;
        add(MutantKind::kAmount, by < 0 ? "amount - 1" : "amount + 1",
            [by](Builder& builder, Statement& statement) {
              Scalar& changed = *amount_of(statement);
              changed = builder.add(changed, builder.constant(by));
            });
      }
    }
    if (std::holds_alternative<AwaitCopy>(statement_.what)) {
      for (const int sign : {1, -1}) bytes(sign);
    }
  }
  // A tile more or less of rows, or where the slices have only one, of columns.
  void bytes(int sign) {
    const auto& await = std::get<AwaitCopy>(statement_.what);
    for (const int from_last : {2, 1}) {
      const auto by = [&](const Slice& slice) -> std::int64_t {
        const int d = static_cast<int>(slice.sizes.size()) - from_last;
        if (d < slice.num_squeezed) return 0;
        const Buffer& buffer = program_.buffers[static_cast<std::size_t>(slice.buffer)];
        const auto at = static_cast<std::size_t>(d);
        const std::int64_t tile = tile_along(buffer, d, chip_);
        const bool fits =
            sign > 0 ? slice.sizes[at] + tile <= buffer.shape[at] : slice.sizes[at] > tile;
        return fits ? sign * tile : 0;
      };
      const std::int64_t change = by(await.source);
      if (change == 0 || by(await.target) != change) continue;
      add(MutantKind::kAmount, cat("bytes of ", change, from_last == 2 ? " rows" : " columns"),
          [change, from_last](Builder&, Statement& statement) {
            auto& changed = std::get<AwaitCopy>(statement.what);
            for (Slice* slice : {&changed.source, &changed.target}) {
              slice->sizes[slice->sizes.size() - static_cast<std::size_t>(from_last)] += change;
            }
          });
      return;
    }
  }

  const Kernel& kernel_;
  const Program& program_;
  const Chip& chip_;
  Statement& statement_;
  std::vector<Entry> entries_;
};

}  // namespace

void exchange_neighbours(Builder& builder, const Ring& ring, Statement& statement) {
  const RingPosition position = ring_position(builder, ring);
  Scalar& device = *device_of(statement);
  device =
      builder.select(builder.equal(device, position.forward), position.backward, position.forward);
}

std::vector<Mutation> statement_mutations(const Kernel& kernel, const Chip& chip,
                                          const std::vector<bool>& is_run) {
  std::vector<Mutation> mutations;
  Program program = kernel.program;  // visiting wants one that can be changed
  const TextWriter writer(kernel.program);
  for_each_statement(program.body, [&](Statement& statement, int number) {
    if (!is_run[static_cast<std::size_t>(number)]) return;
    const std::string text = short_text(writer, program, statement);
    MutantTarget target;
    target.statement = number;
    for (auto& [kind, how, change] : OfStatement(kernel, chip, statement).all()) {
      mutations.push_back({.kind = kind,
                           .name = cat(text, ", statement ", number, ": ", how),
                           .target = target,
                           .apply = [number, change](Kernel& changed) {
                             if (change) {
                               return rewrite_statement(changed.program, number, change);
                             }
                             drop_statements(changed.program, [number](const Statement&, int at) {
                               return at == number;
                             });
                           }});
    }
  });
  return mutations;
}

}  // namespace cmm::tpu
