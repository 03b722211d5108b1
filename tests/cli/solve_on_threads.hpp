// Problems solved on ranks that are threads of the test.
#pragma once

#include "problem.hpp"
#include "world.hpp"

namespace cmm::cli {

inline World& threads_world() {
  static const std::unique_ptr<World> world = make_threads_world();
  return *world;
}
inline Solution solve(const Problem& problem) { return solve(threads_world(), problem); }
inline Comparison check_outputs(const Solution& solution) {
  return check_outputs(threads_world(), solution.data, solution.definition);
}
inline std::uint64_t hash_of(const Solution& solution) {
  return output_hash(threads_world(), solution.data);
}

}  // namespace cmm::cli
