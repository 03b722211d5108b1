#include "sim/tile_copies.hpp"

#include <algorithm>

namespace cmm::sim {

using schedule::Side;
using schedule::XHome;

double TileCopies::group_rows(std::int64_t group) const {
  std::int64_t rows = 0;
  for (const Side side : schedule::kSides) rows += shape_.group_rows(side, group).size();
  return static_cast<double>(rows);
}

CopyWork TileCopies::send(Side side, int hop, std::int64_t piece) const {
  const auto rows = static_cast<double>(shape_.piece(side, piece).size());
  // Read here, and written here by the neighbour that does the same.
  const double ends = shape_.x_home == XHome::kHbm ? 2 : hop == 0 ? 1 : 0;
  return {.bytes = operand_bytes(rows * static_cast<double>(shape_.k)),
          .hbm_ends = ends / machine_.chip.cores_per_device,
          .link = side == Side::kForward ? Link::kForward : Link::kBackward,
          .latency_seconds = machine_.hop_seconds};
}

CopyWork TileCopies::load_x(std::int64_t group, double now) const {
  return {
      .bytes = operand_bytes(group_rows(group) * static_cast<double>(shape_.block_k)),
      .hbm_ends = 1,
      .latency_seconds = std::max(machine_.chip.copy_seconds, machine_.own_x_from_seconds - now)};
}

CopyWork TileCopies::load_y_part(int block) const {
  const auto elems = static_cast<double>(shape_.block_k * shape_.block_columns(block).size());
  return {.bytes = operand_bytes(elems / shape_.y_parts),
          .hbm_ends = 1,
          .latency_seconds = machine_.chip.copy_seconds};
}

CopyWork TileCopies::store(std::int64_t group, int first_block, int num_blocks) const {
  std::int64_t columns = 0;
  for (int block = first_block; block < first_block + num_blocks; ++block)
    columns += shape_.block_columns(block).size();
  return {.bytes = group_rows(group) * static_cast<double>(columns) *
                   tpu::element_bytes(machine_.elements.out),
          .hbm_ends = 1,
          .latency_seconds = machine_.chip.copy_seconds};
}

CopyWork TileCopies::store_x(std::int64_t group) const {
  return {.bytes = operand_bytes(group_rows(group) * static_cast<double>(shape_.k)),
          .hbm_ends = shape_.x_home == XHome::kHbm ? 2.0 : 1.0,
          .latency_seconds = machine_.chip.copy_seconds};
}

EngineRates engine_rates(const TileMachine& machine) {
  return {.hbm_bytes_per_second = machine.chip.hbm_bytes_per_second,
          .link_bytes_per_second = machine.link_bytes_per_second,
          .copy_bytes_per_second = machine.copy_bytes_per_second};
}

}  // namespace cmm::sim
