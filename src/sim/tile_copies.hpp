// What the copies of a tile schedule move, on which machine.
#pragma once

#include "schedule/tiles.hpp"
#include "sim/copy_engine.hpp"
#include "sim/tile_walk.hpp"

namespace cmm::sim {

class TileCopies {
 public:
  TileCopies(const TileMachine& machine, const schedule::TileShape& shape)
      : machine_(machine), shape_(shape) {}

  CopyWork send(schedule::Side side, int hop, std::int64_t piece) const;
  CopyWork load_x(std::int64_t group, double now) const;
  CopyWork load_y_part(int block) const;  // one of y_parts
  CopyWork store(std::int64_t group, int first_block, int num_blocks) const;
  CopyWork store_x(std::int64_t group) const;
  CopyWork entry() const { return {.latency_seconds = machine_.chip.entry_seconds}; }
  CopyWork credit() const { return {.latency_seconds = machine_.hop_seconds}; }

 private:
  double group_rows(std::int64_t group) const;
  double operand_bytes(double elems) const {
    return elems * tpu::element_bytes(machine_.elements.operand);
  }

  const TileMachine& machine_;
  const schedule::TileShape& shape_;
};

EngineRates engine_rates(const TileMachine& machine);

}  // namespace cmm::sim
