#include "tpu/kernels/wavefront/actions.hpp"

#include <utility>

#include "base/text.hpp"

namespace cmm::tpu::wavefront {

using schedule::kSides;
using schedule::Side;
using schedule::TileBody;
using schedule::XHome;

namespace {

std::size_t at(Side side) { return static_cast<std::size_t>(side); }

}  // namespace

template <class Form, class Write>
void Actions::each_form(const Forms<Form>& forms, const ScalarWords& words, const std::string& word,
                        const Write& write) {
  const auto form = words.find(word);
  for (std::size_t i = 0; i < forms.all().size(); ++i) {
    if (form == words.end()) {
      write(forms.all()[i]);
      continue;
    }
    build_.when(build_.equal(form->second, constant(static_cast<std::int64_t>(i))),
                [&] { write(forms.all()[i]); });
  }
}

// Where rows are.
//
// Offsets along rows are products with row_tile, so that the compiler can prove them aligned.

Scalar Actions::piece_tile(Side side, Scalar piece) {
  const std::int64_t half = side == Side::kForward ? 0 : shape_.half_rows(Side::kForward);
  return build_.add(times(piece, tiles(shape_.piece_rows)), constant(tiles(half)));
}

Scalar Actions::group_tile(Side side, Scalar group) {
  const std::int64_t half = side == Side::kForward ? 0 : shape_.half_rows(Side::kForward);
  return build_.add(times(group, tiles(shape_.side_rows)), constant(tiles(half)));
}

// What travels forward comes from devices behind.
Scalar Actions::shard_tile(Side side, Scalar hop) {
  const Scalar index = context_.position.index, size = constant(shape_.num_devices);
  const Scalar shard =
      side == Side::kForward ? build_.add(build_.sub(index, hop), size) : build_.add(index, hop);
  return times(build_.rem(shard, size), tiles(shape_.shard_rows));
}

Scalar Actions::neighbour(Side side, bool sends) const {
  const bool ahead = (side == Side::kForward) == sends;
  return ahead ? context_.position.forward : context_.position.backward;
}

Slice Actions::x_rows(int buffer, Rows rows) {
  return {.buffer = buffer,
          .offsets = {times(rows.tile, shape_.row_tile), constant(0)},
          .sizes = {rows.size, shape_.k}};
}

Slice Actions::x_rows(int buffer, Rows rows, Scalar k_block) {
  return {.buffer = buffer,
          .offsets = {times(rows.tile, shape_.row_tile), times(k_block, shape_.block_k)},
          .sizes = {rows.size, shape_.block_k}};
}

Slice Actions::slot_rows(Side side, Scalar slot, Scalar row, std::int64_t size) {
  const Scalar half_slot = build_.add(times(slot, 2), constant(static_cast<std::int64_t>(side)));
  return {.buffer = context_.resources.x_slots,
          .offsets = {half_slot, row, constant(0)},
          .sizes = {1, size, shape_.block_k},
          .num_squeezed = 1};
}

// Copies and waits.

void Actions::start(Slice source, Slice target, int semaphore, Scalar index) {
  build_.start_copy({.source = std::move(source),
                     .target = std::move(target),
                     .arrival = {.array = semaphore, .index = {index}}});
}

// A wait looks at the semaphore and at the number of bytes, so a slice of the right size does.
void Actions::await(const Slice& slice, int semaphore, Scalar index) {
  build_.await_copy({.side = AwaitCopy::Side::kLocal,
                     .semaphore = {.array = semaphore, .index = {index}},
                     .source = slice,
                     .target = slice});
}

void Actions::await_x(const ScalarWords& words) {
  each_form(context_.code.forms.groups, words, "size", [&](const SideRows& rows) {
    for (const Side side : kSides) {
      if (rows[at(side)] == 0) continue;
      await(slot_rows(side, words.at("slot"), constant(0), rows[at(side)]),
            context_.resources.x_loaded, words.at("slot"));
    }
  });
}

void Actions::await_store_x(const ScalarWords& words) {
  each_form(context_.code.forms.groups, words, "size", [&](const SideRows& rows) {
    for (const std::int64_t size : rows) {
      if (size == 0) continue;
      await(x_rows(context_.resources.x, {constant(0), size}), context_.resources.x_stored,
            words.at("slot"));
    }
  });
}

void Actions::await_y(const ScalarWords& words) {
  each_form(context_.code.forms.blocks, words, "size", [&](std::int64_t cols) {
    const bool transposed = context_.options.rhs_transposed;
    await({.buffer = context_.resources.y_slots,
           .offsets = {words.at("slot"), constant(0), constant(0)},
           .sizes = {1, transposed ? cols : shape_.block_k, transposed ? shape_.block_k : cols},
           .num_squeezed = 1},
          context_.resources.y_loaded, words.at("slot"));
  });
}

void Actions::await_departure(Side side, const ScalarWords& words) {
  each_form(context_.code.forms.pieces[at(side)], words, "size", [&](std::int64_t rows) {
    const Slice piece = x_rows(context_.resources.x, {constant(0), rows});
    build_.await_copy({.side = AwaitCopy::Side::kDeparture,
                       .semaphore = {.array = context_.resources.departures[at(side)],
                                     .index = {words.at("semaphore")}},
                       .source = piece,
                       .target = piece});
  });
}

void Actions::await_arrival(Side side, const ScalarWords& words) {
  each_form(context_.code.forms.pieces[at(side)], words, "size", [&](std::int64_t rows) {
    const Slice piece = x_rows(context_.resources.x, {constant(0), rows});
    build_.await_copy({.side = AwaitCopy::Side::kArrival,
                       .semaphore = {.array = context_.resources.arrivals[at(side)],
                                     .index = {words.at("semaphore")}},
                       .source = piece,
                       .target = piece,
                       .device = neighbour(side, false)});
  });
}

// At hop 0 a piece leaves out of the input x; from then on out of the slot where it has come, or
// out of its rows of the gathered x to the same rows there.
void Actions::send(Side side, const ScalarWords& words) {
  const Resources& resources = context_.resources;
  const Scalar piece = words.at("piece");
  const StartCopy::Remote remote = {
      .device = neighbour(side, true),
      .departure = {.array = resources.departures[at(side)], .index = {words.at("departure")}}};
  const SemaphoreRef arrival = {.array = resources.arrivals[at(side)],
                                .index = {words.at("arrival")}};
  each_form(context_.code.forms.sends[at(side)], words, "form", [&](const SendForm& form) {
    const Slice own = x_rows(resources.x, {piece_tile(side, piece), form.rows});
    Slice source, target;
    if (shape_.x_home == XHome::kVmem) {
      const Scalar row = times(build_.rem(piece, constant(shape_.side_rows / shape_.piece_rows)),
                               shape_.piece_rows);
      target = slot_rows(side, words.at("to slot"), row, form.rows);
      source = form.own ? own : slot_rows(side, words.at("slot"), row, form.rows);
    } else {
      const Scalar tile = build_.add(shard_tile(side, words.at("hop")), piece_tile(side, piece));
      target = x_rows(resources.gathered, {tile, form.rows});
      source = form.own ? own : target;
    }
    build_.start_copy({.source = source, .target = target, .arrival = arrival, .remote = remote});
  });
}

void Actions::load_x(const ScalarWords& words) {
  const Resources& resources = context_.resources;
  const Scalar slot = words.at("slot"), group = words.at("group");
  const Scalar k_block = words.contains("k block") ? words.at("k block") : constant(0);
  each_form(context_.code.forms.x_loads, words, "form", [&](const LoadXForm& form) {
    for (const Side side : kSides) {
      const std::int64_t size = form.rows[at(side)];
      if (size == 0) continue;
      Scalar tile = group_tile(side, group);
      if (!form.own) tile = build_.add(shard_tile(side, words.at("hop")), tile);
      start(x_rows(form.own ? resources.x : resources.gathered, {tile, size}, k_block),
            slot_rows(side, slot, constant(0), size), resources.x_loaded, slot);
    }
  });
}

void Actions::load_y(const ScalarWords& words) {
  const Resources& resources = context_.resources;
  const Scalar slot = words.at("slot");
  const Scalar k_block = words.contains("k block") ? words.at("k block") : constant(0);
  const Scalar column = times(words.at("block"), shape_.block_cols);
  const std::int64_t part_rows = shape_.block_k / shape_.y_parts;
  each_form(context_.code.forms.y_loads, words, "form", [&](const LoadYForm& form) {
    const int y = resources.y[static_cast<std::size_t>(form.right_side)];
    for (int part = 0; part < shape_.y_parts; ++part) {
      const Scalar row =
          times(build_.add(times(k_block, shape_.y_parts), constant(part)), part_rows);
      const Scalar slot_row = constant(part * part_rows);
      Slice source = {.buffer = y, .offsets = {row, column}, .sizes = {part_rows, form.cols}};
      Slice target = {.buffer = resources.y_slots,
                      .offsets = {slot, slot_row, constant(0)},
                      .sizes = {1, part_rows, form.cols},
                      .num_squeezed = 1};
      if (context_.options.rhs_transposed) {
        source.offsets = {column, row};
        source.sizes = {form.cols, part_rows};
        target.offsets = {slot, constant(0), slot_row};
        target.sizes = {1, form.cols, part_rows};
      }
      start(std::move(source), std::move(target), resources.y_loaded, slot);
    }
  });
}

// For kHbm the other rows have come where they belong, so only the own ones are stored.
void Actions::store_x(const ScalarWords& words) {
  const Resources& resources = context_.resources;
  const Scalar slot = words.at("slot");
  each_form(context_.code.forms.groups, words, "size", [&](const SideRows& rows) {
    for (const Side side : kSides) {
      const std::int64_t size = rows[at(side)];
      if (size == 0) continue;
      const Scalar own_tile = group_tile(side, words.at("group"));
      const Scalar tile = build_.add(shard_tile(side, words.at("hop")), own_tile);
      Slice source = shape_.x_home == XHome::kVmem ? slot_rows(side, slot, constant(0), size)
                                                   : x_rows(resources.x, {own_tile, size});
      start(std::move(source), x_rows(resources.gathered, {tile, size}), resources.x_stored, slot);
    }
  });
}

void Actions::write_stores(int body_number, const ScalarWords& words) {
  const auto number = static_cast<std::size_t>(body_number);
  const TileBody& body = shape_.bodies[number];
  const Scalar out_slot = words.at("out slot");
  for (int tile = 0; tile < tiles_of(body); ++tile) {
    const auto word = [&](const char* name) { return words.at(cat(name, " ", tile)); };
    const Scalar column = times(body.free ? word("block") : words.at("block"), shape_.block_cols);
    each_form(
        context_.code.forms.stores[number], words, cat("form ", tile), [&](const StoreForm& form) {
          for (const Side side : kSides) {
            const std::int64_t size = form.size.rows[at(side)];
            if (size == 0) continue;
            const Scalar half_tile = build_.add(times(out_slot, 2 * tiles_of(body)),
                                                constant(2 * tile + static_cast<int>(side)));
            const Scalar row =
                build_.add(shard_tile(side, word("hop")), group_tile(side, word("group")));
            start({.buffer = context_.resources.out_slots[number],
                   .offsets = {half_tile, constant(0), constant(0)},
                   .sizes = {1, size, form.size.cols},
                   .num_squeezed = 1},
                  {.buffer = context_.resources.out[static_cast<std::size_t>(form.right_side)],
                   .offsets = {times(row, shape_.row_tile), column},
                   .sizes = {size, form.size.cols}},
                  context_.resources.stored[number], out_slot);
          }
        });
  }
}

// One wait for all of a slot where all of it is stored each time, else one for each copy.
void Actions::await_store(int body_number, const ScalarWords& words) {
  const auto number = static_cast<std::size_t>(body_number);
  const TileBody& body = shape_.bodies[number];
  const Forms<TileSize>& forms = context_.code.forms.tiles[number];
  const std::int64_t cols = tile_cols(body, shape_.block_cols);
  const int semaphore = context_.resources.stored[number];
  const auto slice = [&](std::int64_t half_tiles, std::int64_t rows, std::int64_t slice_cols) {
    return Slice{.buffer = context_.resources.out_slots[number],
                 .offsets = {constant(0), constant(0), constant(0)},
                 .sizes = {half_tiles, rows, slice_cols},
                 .num_squeezed = 0};
  };
  const TileSize full = {{shape_.side_rows, shape_.side_rows}, cols};
  if (forms.all().size() == 1 && forms.all()[0] == full) {
    await(slice(2 * tiles_of(body), shape_.side_rows, cols), semaphore, words.at("slot"));
    return;
  }
  for (int tile = 0; tile < tiles_of(body); ++tile) {
    each_form(forms, words, cat("size ", tile), [&](const TileSize& size) {
      for (const std::int64_t rows : size.rows) {
        if (rows > 0) await(slice(1, rows, size.cols), semaphore, words.at("slot"));
      }
    });
  }
}

void Actions::write(Kind kind, int variant, const ScalarWords& words) {
  const Resources& resources = context_.resources;
  const Side side = static_cast<Side>(variant);
  const auto credit = [&] {
    return SemaphoreRef{.array = resources.credits, .index = {constant(variant)}};
  };
  switch (kind) {
    case Kind::kAwaitEntry:
      return await_entry(build_, context_.position, resources.barrier, resources.second_round);
    case Kind::kAwaitDeparture:
      return await_departure(side, words);
    case Kind::kAwaitArrival:
      return await_arrival(side, words);
    case Kind::kAwaitX:
      return await_x(words);
    case Kind::kAwaitY:
      return await_y(words);
    case Kind::kAwaitStore:
      return await_store(variant, words);
    case Kind::kAwaitStoreX:
      return await_store_x(words);
    case Kind::kAwaitCredit:
      return build_.await({.semaphore = credit(), .amount = constant(1)});
    case Kind::kSend:
      return send(side, words);
    case Kind::kLoadX:
      return load_x(words);
    case Kind::kLoadY:
      return load_y(words);
    case Kind::kStore:
      return;  // write_stores
    case Kind::kStoreX:
      return store_x(words);
    case Kind::kGrant:
      return build_.signal(
          {.semaphore = credit(), .amount = constant(1), .device = neighbour(side, false)});
  }
}

}  // namespace cmm::tpu::wavefront
