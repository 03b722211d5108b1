// Plans against the other two schedules and the bound, over shapes of all sizes. CMM_SWEEP says how
// many of them.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/bound.hpp"
#include "sim/reference_walk.hpp"
#include "sim/tile_problems.hpp"
#include "sim/tile_table.hpp"
#include "tpu/kernels/reference.hpp"

namespace cmm::sim {
namespace {

// From 16 rows on 2 chips to 8192 on 16, k and n from small to large, in no regular order.
ProblemText shape_of_sweep(int i) {
  const std::vector<std::string> chips = {"v6e", "v5e", "v5p", "7x"};
  const std::vector<std::int64_t> rows = {16, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
  const std::vector<std::int64_t> ks = {1024, 2048, 4096, 5120, 8192};
  const std::vector<std::int64_t> cols = {512, 1024, 1792, 3200, 6400, 7168};
  const std::vector<int> devices = {8, 4, 16, 2, 6};
  const auto pick = [](const auto& values, int from) { return values[from % values.size()]; };
  ProblemText text;
  text.chip = pick(chips, i);
  text.m = pick(rows, i * 5 + i / 9);
  text.k = pick(ks, i * 2 + i / 7);
  text.cols = {pick(cols, i * 7 + i / 5)};
  text.num_devices = pick(devices, i + i / 5);
  return text;
}

// The fastest pair of block sizes among those a user would try, or nothing where none fits.
double best_reference_seconds(const TileProblem& problem) {
  const schedule::TileShape& shape = problem.shape;
  ReferenceProblem reference{
      problem.machine, shape.num_devices, shape.shard_rows, shape.k, shape.cols.front(), 0, 0};
  double best = 0;
  for (int n = 1; n <= 8; ++n) {
    for (int k = 1; k <= 2; ++k) {
      if (reference.cols % (n * 128) != 0 || reference.k % (k * 128) != 0) continue;
      reference.bn = reference.cols / n;
      reference.bk = reference.k / k;
      const tpu::ReferenceOptions kernel = {.ring = {{shape.num_devices}, 0},
                                            .m = shape.num_devices * shape.shard_rows,
                                            .k = reference.k,
                                            .n = shape.num_devices * reference.cols,
                                            .element = problem.machine.elements.operand,
                                            .bn = reference.bn,
                                            .bk = reference.bk};
      const tpu::Chip& chip = problem.machine.chip;
      if (tpu::reference_vmem_bytes(kernel, chip) > chip.vmem_bytes) continue;
      const double seconds = walk_reference(reference).seconds;
      if (best == 0 || seconds < best) best = seconds;
    }
  }
  return best;
}

TEST(Sweep, APlanIsRightAndHardlyEverSlowerThanTheOthers) {
  int num_faster = 0;
  double worst = 0;
  for (int i = 0; i < CMM_SWEEP; ++i) {
    const ProblemText text = shape_of_sweep(i);
    SCOPED_TRACE(to_text(text));
    const TileProblem problem = tile_problem(text);
    const TilePlan plan = best_tiles(problem);
    ASSERT_EQ(verify(plan.schedule), "") << to_text(plan.parameters);
    EXPECT_GE(plan.times.seconds, bound(problem).seconds());
    double others = best_sequential(problem).times.seconds;
    const double reference = best_reference_seconds(problem);
    if (reference > 0) others = std::min(others, reference);
    const double ratio = plan.times.seconds / others;
    worst = std::max(worst, ratio);
    num_faster += ratio < 1 ? 1 : 0;
  }
  std::cout << "faster on " << num_faster << " of " << CMM_SWEEP << ", at worst " << worst << "\n";
  EXPECT_GE(num_faster, CMM_SWEEP * 3 / 4);
}

}  // namespace
}  // namespace cmm::sim
