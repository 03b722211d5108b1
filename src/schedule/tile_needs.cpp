#include "schedule/tile_needs.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace cmm::schedule {
namespace {

constexpr int kSumBytes = 4;

std::int64_t product_elems(const TileShape& shape, const TileBody& body) {
  return body.groups * 2 * shape.side_rows * body.blocks * shape.block_cols;
}

int count(const std::vector<TileAction>& actions, TileAction::Kind kind) {
  return static_cast<int>(std::ranges::count(actions, kind, &TileAction::kind));
}

int count_sends(const std::vector<TileAction>& actions, Side side) {
  return static_cast<int>(std::ranges::count_if(actions, [side](const TileAction& action) {
    return action.kind == TileAction::Kind::kSend && action.side == side;
  }));
}

std::int64_t num_tiles(const TileBody& body) { return body.free ? body.blocks : body.groups; }

std::int64_t words_of(const TileShape& shape, TileAction::Kind kind, int body) {
  using Kind = TileAction::Kind;
  const bool hbm = shape.x_home == XHome::kHbm;
  const std::int64_t k_block = shape.num_k_blocks() > 1 ? 1 : 0;
  const std::int64_t form = 1;
  switch (kind) {
    case Kind::kAwaitEntry:
    case Kind::kAwaitCredit:
    case Kind::kGrant:
      return 1;
    case Kind::kAwaitDeparture:
    case Kind::kAwaitArrival:
    case Kind::kAwaitX:
    case Kind::kAwaitY:
    case Kind::kAwaitStoreX:
      return 1 + form;
    case Kind::kAwaitStore:
      return 1 + form * num_tiles(shape.bodies[body]);
    case Kind::kSend:  // piece, hop or two slots, two semaphores
      return (hbm ? 4 : 5) + form;
    case Kind::kLoadX:
      return (hbm ? 3 : 2) + k_block + form;
    case Kind::kLoadY:
      return 2 + k_block + form;
    case Kind::kStoreX:
      return 3 + form;
    case Kind::kStore:  // the product's words say where it goes
      return 0;
  }
  return 0;
}

// Body, out slot, then operands and block, and of each tile that is stored hop, group and form.
std::int64_t words_of(const TileBody& body) {
  const std::int64_t operands = body.free ? 3 * body.blocks : 2 + body.blocks;
  return 2 + operands + 3 * num_tiles(body);
}

}  // namespace

std::int64_t x_slot_bytes(const TileShape& shape, const TileElements& elements) {
  return 2 * shape.side_rows * shape.block_k * tpu::element_bytes(elements.operand);
}

std::int64_t y_slot_bytes(const TileShape& shape, const TileElements& elements) {
  return shape.block_k * shape.block_cols * tpu::element_bytes(elements.operand);
}

std::int64_t out_bytes(const TileShape& shape, const TileElements& elements) {
  std::int64_t bytes = 0;
  for (const TileBody& body : shape.bodies) {
    const std::int64_t elems = product_elems(shape, body);
    bytes += elems * body.out_slots * tpu::element_bytes(elements.out);
    if (shape.num_k_blocks() > 1) bytes += elems * kSumBytes;
  }
  return bytes;
}

std::int64_t vmem_bytes(const TileShape& shape, const TileElements& elements) {
  return shape.x_slots * x_slot_bytes(shape, elements) +
         shape.y_slots * y_slot_bytes(shape, elements) + out_bytes(shape, elements);
}

std::int64_t num_semaphores(const TileShape& shape) {
  std::int64_t semaphores = shape.x_slots + shape.y_slots;
  for (const TileBody& body : shape.bodies) semaphores += body.out_slots;
  if (shape.gathered) semaphores += shape.x_slots;
  if (shape.num_devices == 1) return semaphores;
  for (const Side side : kSides) {
    if (shape.num_pieces(side) > 0) semaphores += shape.num_arrivals(side) + shape.departures;
  }
  const std::int64_t entry = 1;
  return semaphores + entry + (shape.needs_credits() ? 2 : 0);
}

std::int64_t least_row_words(const TileShape& shape) {
  std::int64_t product = 0;
  for (const TileBody& body : shape.bodies) product = std::max(product, words_of(body));
  return product + (shape.num_k_blocks() > 1 ? 1 : 0);
}

std::int64_t most_table_words(const TileSchedule& schedule) {
  const TileShape& shape = schedule.shape;
  // List of a step, kind, side or body: how many of them a row has room for.
  std::map<std::tuple<int, TileAction::Kind, int>, std::int64_t> lanes;
  for (const TileStep& step : schedule.steps) {
    int list = 0;
    for (const auto* actions : {&step.waits, &step.starts, &step.operands, &step.after}) {
      std::map<std::pair<TileAction::Kind, int>, std::int64_t> in_step;
      for (const TileAction& action : *actions) {
        const bool stores = action.kind == TileAction::Kind::kAwaitStore;
        ++in_step[{action.kind, stores ? action.body : static_cast<int>(action.side)}];
      }
      for (const auto& [lane, count] : in_step) {
        std::int64_t& most = lanes[{list, lane.first, lane.second}];
        most = std::max(most, count);
      }
      ++list;
    }
  }
  std::int64_t width = 0;
  for (const auto& [lane, count] : lanes)
    width += count * words_of(shape, std::get<1>(lane), std::get<2>(lane));
  return std::ssize(schedule.steps) * (width + least_row_words(shape));
}

TileFields count_fields(const TileSchedule& schedule) {
  using Kind = TileAction::Kind;
  TileFields fields;
  const auto most = [](int& to, std::size_t value) { to = std::max(to, static_cast<int>(value)); };
  for (const TileStep& step : schedule.steps) {
    for (const Side side : kSides) most(fields.sends, count_sends(step.starts, side));
    most(fields.x_loads, count(step.starts, Kind::kLoadX));
    most(fields.y_loads, count(step.starts, Kind::kLoadY));
    most(fields.x_stores, count(step.starts, Kind::kStoreX) + count(step.after, Kind::kStoreX));
    most(fields.awaits, std::max(step.waits.size(), step.operands.size()));
  }
  for (const TileBody& body : schedule.shape.bodies) {
    most(fields.out_groups, body.free ? body.blocks : body.groups);
    most(fields.wide_blocks, body.free ? 1 : body.blocks);
  }
  return fields;
}

}  // namespace cmm::schedule
