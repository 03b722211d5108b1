#include "api/tpu_setting.hpp"

#include <numeric>

#include "api/tpu_kernels.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "sim/bound.hpp"

namespace cmm::tpu {

void check_candidates(int num_candidates) {
  if (num_candidates < 0) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("num_candidates is ", num_candidates, "; it must be 0 or more"));
  }
}

Setting setting_of(const Problem& problem, const Chip& chip, const MachineOptions& machine) {
  check(problem);
  Setting setting;
  setting.problem = problem;
  setting.of_core = problem_of_core(problem, chip);
  setting.chip = chip;
  setting.tiles = tile_problem(setting.of_core, chip, ring_machine(problem, chip, machine));
  const sim::TileBound bound =
      sim::bound(setting.tiles, {.m = problem.m,
                                 .k = problem.k,
                                 .cols = std::accumulate(setting.of_core.n.begin(),
                                                         setting.of_core.n.end(), std::int64_t{0}) /
                                         problem.num_devices()});
  setting.bound = {bound.seconds(), bound.mxu_seconds, bound.link_seconds, bound.hbm_seconds};
  return setting;
}

}  // namespace cmm::tpu
