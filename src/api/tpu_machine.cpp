#include "api/tpu_machine.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/integers.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "cmm/tpu_simulate.hpp"

namespace cmm::tpu {
namespace {

int num_chips(const std::vector<int>& slice) {
  return std::accumulate(slice.begin(), slice.end(), 1, std::multiplies<>());
}

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
  std::vector<int> axes;  // those that have neighbours
  std::copy_if(slice.begin(), slice.end(), std::back_inserter(axes),
               [](int size) { return size > 1; });
  const int chips = num_chips(slice);
  if (chips == 1) return {};
  if (chips == 2) return {.links_per_hop = 1, .hops_per_link = 2};
  const bool wraps = std::any_of(axes.begin(), axes.end(), [&](int size) {
    return size > 2 && size % chip.wrap_multiple == 0;
  });
  if (wraps || (axes.size() > 1 && chips % 2 == 0)) return {};
  return {.links_per_hop = 2, .hops_per_link = 2};
}

sim::TileMachine ring_machine(const Problem& problem, const Chip& chip,
                              const MachineOptions& options) {
  const std::vector<int> slice =
      options.slice.empty() ? usual_slice(chip, problem.num_devices()) : options.slice;
  check_slice(problem, chip, slice);
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
