// What no schedule can beat, and what does not overlap at all.
#pragma once

#include <cstdint>

#include "sim/tile_plan.hpp"

namespace cmm::sim {

// Products at the MXUs' peak; (P - 1) / P of x into a device over both directions of its link;
// every operand read and every result written once.
struct TileBound {
  double mxu_seconds = 0;
  double link_seconds = 0;
  double hbm_seconds = 0;
  double seconds() const;
};
// Of the padded extents, all of which a kernel multiplies.
TileBound bound(const TileProblem& problem);

// Of what is asked of one core, without the zeros that pad it to whole tiles: work on those is none
// that a faster schedule would have to do.
struct BoundExtents {
  std::int64_t m = 0;  // of all devices
  std::int64_t k = 0;
  std::int64_t cols = 0;  // of all right sides
};
TileBound bound(const TileProblem& problem, const BoundExtents& asked);

// All rows gathered in HBM first, then the best product of all rows with the right sides.
struct Sequential {
  double gather_seconds = 0;
  TilePlan product;            // of one device that has all rows
  bool y_comes_early = false;  // y is loaded while x is gathered
  // Of both: the gather counts as idle_x_seconds.
  TileTimes times;
};
// One after the other, as a compiler does that knows nothing of overlap.
Sequential gather_then_multiply(const TileProblem& problem);
// The faster of that and the same with y on its way into VMEM meanwhile.
Sequential best_sequential(const TileProblem& problem);

}  // namespace cmm::sim
