#include "schedule/tile_needs.hpp"

#include <algorithm>

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
