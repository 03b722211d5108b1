// The table of what searches have found, for callers.
#include "api/tpu_kernels.hpp"
#include "api/tpu_machine.hpp"
#include "cmm/tpu_simulate.hpp"
#include "sim/tile_table.hpp"

namespace cmm::tpu {

std::string tile_table_text() { return std::string(sim::builtin_tile_table_text()); }

std::string nearest_tile_entry(const Problem& problem, const Chip& chip) {
  check(problem);
  const sim::TileProblem tiles =
      tile_problem(problem_of_core(problem, chip), chip, ring_machine(problem, chip, {}));
  return sim::to_text(sim::nearest_entry(sim::builtin_tile_table(), tiles));
}

std::string make_tile_table(const TileTableOptions& options,
                            const std::function<void(std::string_view)>& progress) {
  return sim::make_tile_table({.seed = options.seed, .num_candidates = options.num_candidates},
                              [&](std::string_view line) {
                                if (progress) progress(line);
                              });
}

}  // namespace cmm::tpu
