#include "sim/tile_walk.hpp"

#include <algorithm>
#include <cmath>

namespace cmm::sim {

double op_cycles(const tpu::Chip& chip, tpu::Element element, double rows, double k, double cols) {
  const double tiles = std::ceil(k / chip.mxu_tile) * std::ceil(cols / chip.mxu_tile);
  return tiles / chip.num_mxus * std::max(rows * chip.mxu_cycles_per_row, chip.mxu_push_cycles) /
         chip.mxu_rate[static_cast<std::size_t>(element)];
}

}  // namespace cmm::sim
