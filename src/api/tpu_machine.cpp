#include "api/tpu_machine.hpp"

#include <algorithm>
#include <cmath>

#include "base/integers.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "cmm/tpu_simulate.hpp"
#include "sim/slice_network.hpp"

namespace cmm::tpu {
namespace {

void check_slice(const Problem& problem, const Chip& chip, const std::vector<int>& slice) {
  const int num_devices = problem.num_devices();
  std::int64_t chips = 1;
  for (const int size : slice) {
    if (size < 1 || chips > num_devices) break;
    chips *= size;
  }
  const bool all_positive = std::all_of(slice.begin(), slice.end(), [](int s) { return s > 0; });
  if (!all_positive || chips != num_devices) {
    throw Error(
        ErrorCode::kInvalidArgument,
        cat("slice ", joined(slice, "x"), " must have as many chips as the ring has devices, ",
            num_devices, ", as ", joined(usual_slice(chip, num_devices), "x")));
  }
  if (static_cast<int>(slice.size()) > chip.torus_dims) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("slice ", joined(slice, "x"), " has ", slice.size(), " axes, but the links of ",
                    chip.name, " make a torus of ", chip.torus_dims));
  }
}

// The largest divisor of `number` that is at most its root-th root.
int divisor_near_root(int number, int root) {
  for (int divisor = static_cast<int>(std::pow(number, 1.0 / root) + 1e-9); divisor > 1;
       --divisor) {
    if (number % divisor == 0) return divisor;
  }
  return 1;
}

}  // namespace

std::vector<int> usual_slice(const Chip& chip, int num_devices) {
  std::vector<int> slice;
  for (int left = chip.torus_dims; left > 1; --left) {
    slice.push_back(divisor_near_root(num_devices, left));
    num_devices /= slice.back();
  }
  slice.push_back(num_devices);
  return slice;
}

RingOnSlice ring_on_slice(const Chip& chip, const std::vector<int>& slice) {
  const sim::SliceNetwork network(sim::slice_machine(chip, slice));
  const int num_chips = network.num_ranks();
  std::vector<int> num_hops(network.links().size());  // that cross each link
  RingOnSlice ring;
  sim::Route route;
  for (int rank = 0; rank < num_chips; ++rank) {
    for (const int to : {(rank + 1) % num_chips, (rank + num_chips - 1) % num_chips}) {
      network.find_route(rank, to, route);
      ring.links_per_hop = std::max(ring.links_per_hop, static_cast<int>(route.links.size()));
      for (const int link : route.links)
        ring.hops_per_link = std::max(ring.hops_per_link, ++num_hops[link]);
    }
  }
  return ring;
}

sim::TileMachine ring_machine(const Problem& problem, const Chip& chip,
                              const MachineOptions& options) {
  const std::vector<int> slice =
      options.slice.empty() ? usual_slice(chip, problem.num_devices()) : options.slice;
  check_slice(problem, chip, slice);
  if (!(options.copy_bytes_per_second >= 0)) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("copy_bytes_per_second is ", options.copy_bytes_per_second,
                    "; it must be above 0, or 0 for all that is free"));
  }
  if (!multiplies(chip, problem.element)) {
    throw Error(ErrorCode::kUnsupported,
                cat(chip.name, " does not multiply ", element_name(problem.element)));
  }
  const RingOnSlice ring = ring_on_slice(chip, slice);
  sim::TileMachine machine;
  machine.chip = chip;
  machine.elements = {.operand = problem.element, .out = problem.result_element()};
  machine.link_bytes_per_second = chip.link_bytes_per_second / ring.hops_per_link;
  machine.hop_seconds = chip.hop_seconds * ring.links_per_hop;
  machine.copy_bytes_per_second = options.copy_bytes_per_second;
  return machine;
}

Problem problem_of_core(const Problem& problem, const Chip& chip) {
  Problem of_core = problem;
  for (std::int64_t& n : of_core.n) {
    n = ceil_div(n / problem.num_devices(), chip.cores_per_device) * problem.num_devices();
  }
  return of_core;
}

}  // namespace cmm::tpu
