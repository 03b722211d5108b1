#include "sim/bound.hpp"

#include <algorithm>
#include <numeric>

namespace cmm::sim {
namespace {

using schedule::Side;
using schedule::TileShape;

double x_bytes(const TileProblem& problem) {
  return static_cast<double>(problem.shape.shard_rows * problem.shape.k *
                             tpu::element_bytes(problem.machine.elements.operand));
}

// A hop's first byte comes after its latency, and no hop begins before the one before has ended.
double gather_seconds(const TileProblem& problem) {
  const TileShape& shape = problem.shape;
  if (shape.num_devices == 1) return 0;
  const double forward = static_cast<double>(shape.half_rows(Side::kForward)) /
                         static_cast<double>(shape.shard_rows) * x_bytes(problem);
  const TileMachine& machine = problem.machine;
  // Both directions read here what they send, and write what comes.
  const double rate =
      std::min(machine.link_bytes_per_second,
               machine.chip.hbm_bytes_per_second * machine.chip.cores_per_device / 4);
  return machine.chip.entry_seconds +
         (shape.num_devices - 1) * (machine.hop_seconds + forward / rate);
}

Sequential sequential(const TileProblem& problem, bool y_comes_early) {
  TileProblem product = problem;
  product.shape.shard_rows = problem.shape.num_devices * problem.shape.shard_rows;
  product.shape.num_devices = 1;
  product.shape.gathered = false;  // it is already
  Sequential result;
  result.y_comes_early = y_comes_early;
  result.gather_seconds = gather_seconds(problem);
  if (y_comes_early) product.machine.own_x_from_seconds = result.gather_seconds;
  result.product = plan_tiles(product);
  result.times = result.product.times;
  if (y_comes_early) return result;
  result.times.seconds += result.gather_seconds;
  result.times.idle_x_seconds += result.gather_seconds;
  result.times.exposed_seconds += result.gather_seconds;
  return result;
}

}  // namespace

double TileBound::seconds() const { return std::max({mxu_seconds, link_seconds, hbm_seconds}); }

TileBound bound(const TileProblem& problem) {
  const TileShape& shape = problem.shape;
  return bound(problem,
               {.m = shape.num_devices * shape.shard_rows,
                .k = shape.k,
                .cols = std::accumulate(shape.cols.begin(), shape.cols.end(), std::int64_t{0})});
}

TileBound bound(const TileProblem& problem, const BoundExtents& asked) {
  const tpu::Chip& chip = problem.machine.chip;
  const auto rows = static_cast<double>(asked.m);
  const auto k = static_cast<double>(asked.k);
  const auto cols = static_cast<double>(asked.cols);
  const std::int64_t num_devices = problem.shape.num_devices;
  const double rate = chip.mxu_rate[static_cast<std::size_t>(problem.machine.elements.operand)];
  const double products_per_cycle =
      chip.num_mxus * chip.mxu_tile * chip.mxu_tile / chip.mxu_cycles_per_row * rate;
  const int bytes = tpu::element_bytes(problem.machine.elements.operand);
  const int out_bytes = tpu::element_bytes(problem.machine.elements.out);
  // Some device has as many rows as the mean, or more.
  const double own_x_bytes = rows * k * bytes / static_cast<double>(num_devices);
  const double gathered = problem.shape.gathered ? rows * k * bytes : 0;
  return {.mxu_seconds = rows * k * cols / products_per_cycle / chip.clock_hz,
          .link_seconds = static_cast<double>(num_devices - 1) * own_x_bytes /
                          (2 * problem.machine.link_bytes_per_second),
          .hbm_seconds = (k * cols * bytes + own_x_bytes + rows * cols * out_bytes + gathered) /
                         chip.hbm_bytes_per_second};
}

Sequential gather_then_multiply(const TileProblem& problem) { return sequential(problem, false); }

Sequential best_sequential(const TileProblem& problem) {
  Sequential apart = sequential(problem, false);
  Sequential early = sequential(problem, true);
  return apart.times.seconds <= early.times.seconds ? apart : early;
}

}  // namespace cmm::sim
