#include "api/simulated_machine.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "sim/host_network.hpp"
#include "sim/slice_network.hpp"
#include "sim/tile_walk.hpp"

namespace cmm::api {
namespace {

// As the executor: rows that it multiplies together at most, and up to which it gathers all of x
// before it reads y.
constexpr std::int64_t kWaveRows = 1032;
constexpr std::int64_t kGatherFirstRows = 16;
// Hand-over between spinning threads of one machine, 0.17 to 0.3 us (docs/performance.md).
constexpr double kLookSeconds = 0.3e-6;
// A kernel takes what has come up to a tile of 512 rows, and starts copies a few at a time.
constexpr std::int64_t kTileRows = 512;
constexpr int kCopiesInFlight = 4;

[[noreturn]] void reject(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

void check_positive(const char* what, double value) {
  if (!(value > 0) || !std::isfinite(value)) reject(cat(what, " is ", value, "; it must be > 0"));
}

void check_hosts(int num_hosts, int num_ranks) {
  if (num_hosts < 1 || num_hosts > num_ranks)
    reject(cat("num_hosts is ", num_hosts, "; it must be 1 to the ", num_ranks, " ranks"));
}

double columns_of(const ProblemShape& shape) {
  return std::accumulate(shape.n_local.begin(), shape.n_local.end(), 0.0,
                         [](double sum, std::int64_t n) { return sum + static_cast<double>(n); });
}

double weight_bytes(const ProblemShape& shape) {
  return columns_of(shape) * static_cast<double>(shape.k) *
         static_cast<double>(dtype_bytes(shape.dtype));
}

tpu::Element element_of(DType dtype, const tpu::Chip& chip) {
  const tpu::Element element = dtype == DType::kF32 ? tpu::Element::kF32 : tpu::Element::kBF16;
  if (dtype == DType::kF16 || !tpu::multiplies(chip, element))
    throw Error(ErrorCode::kUnsupported,
                cat(chip.name, " does not multiply ", dtype_name(dtype), "; take bf16"));
  return element;
}

void check_slice(const SimulatedSlice& slice, int num_ranks) {
  std::int64_t product = slice.chips.empty() ? 0 : 1;
  for (const int size : slice.chips) product = size < 1 || product > num_ranks ? 0 : product * size;
  if (product != num_ranks)
    reject(cat("slice ", joined(slice.chips, "x"), " must have as many chips as there are ranks, ",
               num_ranks));
  if (static_cast<int>(slice.chips.size()) > slice.chip.torus_dims)
    reject(cat("slice ", joined(slice.chips, "x"), " has ", slice.chips.size(),
               " axes, but the links of ", slice.chip.name, " make a torus of ",
               slice.chip.torus_dims));
}

}  // namespace

SimulatedRanks simulated_ranks(const ProblemShape& shape, int num_ranks,
                               const SimulatedHosts& hosts) {
  check_hosts(hosts.num_hosts, num_ranks);
  check_positive("rank_flops", hosts.rank_flops);
  check_positive("memory_bytes_per_second", hosts.memory_bytes_per_second);
  SimulatedRanks ranks;
  ranks.name = cat(num_ranks, num_ranks == 1 ? " rank on " : " ranks on ", hosts.num_hosts,
                   hosts.num_hosts == 1 ? " host" : " hosts");
  ranks.network = std::make_unique<sim::HostNetwork>(
      sim::HostMachine{.num_ranks = num_ranks,
                       .num_hosts = hosts.num_hosts,
                       .link_bytes_per_second = hosts.network.bytes_per_second,
                       .link_seconds = hosts.network.latency_seconds,
                       .memory_bytes_per_second = hosts.memory_bytes_per_second,
                       .look_seconds = kLookSeconds,
                       .reads_in_place = true});
  ranks.num_hosts = hosts.num_hosts;
  const double row_flops = 2 * columns_of(shape) * static_cast<double>(shape.k);
  // The ranks of the fullest host share its memory.
  const double ranks_of_host = std::ceil(static_cast<double>(num_ranks) / hosts.num_hosts);
  const double read_seconds = weight_bytes(shape) * ranks_of_host / hosts.memory_bytes_per_second;
  ranks.multiply_seconds = [=, rate = hosts.rank_flops](std::int64_t rows, bool) {
    return std::max(static_cast<double>(rows) * row_flops / rate, read_seconds);
  };
  ranks.wave_rows = kWaveRows;
  ranks.gather_first_rows = kGatherFirstRows;
  return ranks;
}

SimulatedRanks simulated_ranks(const ProblemShape& shape, int num_ranks,
                               const SimulatedSlice& slice) {
  check_hosts(slice.num_hosts, num_ranks);
  check_slice(slice, num_ranks);
  const tpu::Chip& chip = slice.chip;
  const tpu::Element element = element_of(shape.dtype, chip);
  SimulatedRanks ranks;
  ranks.name = cat(num_ranks, " x ", chip.name, " (", joined(slice.chips, "x"), ")");
  ranks.network = std::make_unique<sim::SliceNetwork>(sim::slice_machine(chip, slice.chips));
  ranks.num_hosts = slice.num_hosts;
  // A device with several cores gives each an even part of the columns.
  const double cores = chip.cores_per_device;
  const double cols = std::ceil(columns_of(shape) / cores), k = static_cast<double>(shape.k);
  const double read_seconds = weight_bytes(shape) / cores / chip.hbm_bytes_per_second;
  const bool stays = weight_bytes(shape) / cores < static_cast<double>(chip.vmem_bytes);
  ranks.multiply_seconds = [=](std::int64_t rows, bool first) {
    const double cycles = sim::op_cycles(chip, element, static_cast<double>(rows), k, cols) +
                          sim::fill_cycles(chip, element, static_cast<double>(rows), cols);
    return std::max(cycles / chip.clock_hz, first || !stays ? read_seconds : 0);
  };
  ranks.wave_rows = kTileRows;
  ranks.max_in_flight = kCopiesInFlight;
  return ranks;
}

}  // namespace cmm::api
