// The six shapes that the reference kernel has been tuned for: v6e, 8 devices, bf16.
#pragma once

#include <array>

#include "sim/reference_walk.hpp"
#include "sim/tile_problems.hpp"

namespace cmm::sim {

struct TunedShape {
  std::int64_t m, n, k;
  std::int64_t bn, bk;
};
inline constexpr std::array<TunedShape, 6> kSixShapes = {{{1024, 51200, 5120, 6400, 2560},
                                                          {1024, 57344, 8192, 7168, 8192},
                                                          {2048, 51200, 5120, 1280, 5120},
                                                          {2048, 57344, 8192, 1024, 8192},
                                                          {4096, 51200, 5120, 3200, 5120},
                                                          {8192, 51200, 5120, 1280, 5120}}};

inline TileProblem problem_of(const TunedShape& shape) {
  return tile_problem({.m = shape.m, .k = shape.k, .cols = {shape.n / 8}});
}

inline ReferenceProblem reference_of(const TunedShape& shape) {
  return {problem_of(shape).machine, 8, shape.m / 8, shape.k, shape.n / 8, shape.bn, shape.bk};
}

}  // namespace cmm::sim
