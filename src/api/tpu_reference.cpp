#include "api/tpu_reference.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "cmm/tpu_call.hpp"

namespace cmm::tpu {
namespace {

// What vllm-project/tpu-inference has tuned, in all_gather_matmul_tuned_block_sizes.py: for
// generation 6, bf16, 8 devices.
struct TunedShape {
  std::int64_t m, n, k;
  std::int64_t bn, bk;
};
constexpr int kTunedDevices = 8;
constexpr std::array<TunedShape, 6> kTunedShapes = {{{1024, 51200, 5120, 6400, 2560},
                                                     {1024, 57344, 8192, 7168, 8192},
                                                     {2048, 51200, 5120, 1280, 5120},
                                                     {2048, 57344, 8192, 1024, 8192},
                                                     {4096, 51200, 5120, 3200, 5120},
                                                     {8192, 51200, 5120, 1280, 5120}}};

// How often one number fits the other, as a distance that both directions share.
double distance(double a, double b) { return std::fabs(std::log2(a / b)); }

// By what one device multiplies; more rows shift a choice less than other blocks of y do.
const TunedShape& nearest_shape(const Problem& problem) {
  const double num_devices = problem.num_devices();
  const TunedShape* nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const TunedShape& shape : kTunedShapes) {
    const double far =
        distance(double(problem.m) / num_devices, double(shape.m) / kTunedDevices) +
        2 * distance(double(problem.n[0]) / num_devices, double(shape.n) / kTunedDevices) +
        2 * distance(double(problem.k), double(shape.k));
    if (far < least) {
      least = far;
      nearest = &shape;
    }
  }
  return *nearest;
}

std::vector<std::int64_t> blocks_of(std::int64_t extent) {
  std::vector<std::int64_t> blocks;
  for (std::int64_t block = kLanes; block <= extent; block += kLanes) {
    if (extent % block == 0) blocks.push_back(block);
  }
  return blocks;
}

ReferenceOptions options_of(const Problem& problem, const KernelOptions& options) {
  ReferenceOptions reference;
  reference.ring = {.mesh = problem.mesh, .axis = problem.axis};
  reference.m = problem.m;
  reference.k = problem.k;
  reference.n = problem.n[0];
  reference.element = problem.element;
  reference.bn = options.bn;
  reference.bk = options.bk;
  reference.rhs_transposed = problem.rhs_transposed;
  reference.collective_id = options.collective_id;
  reference.debug = options.debug;
  return reference;
}

bool fits(const Problem& problem, const Chip& chip, std::int64_t bn, std::int64_t bk) {
  ReferenceOptions options = options_of(problem, {});
  options.bn = bn;
  options.bk = bk;
  return reference_vmem_bytes(options, chip) <= chip.vmem_bytes;
}

// What the reference kernel has no option for.
std::string why_not_offered(const Problem& problem) {
  if (problem.n.size() > 1) {
    return cat("the reference kernel multiplies one right side, and there are ", problem.n.size());
  }
  if (problem.result_element() != problem.element) {
    return cat("the reference kernel returns the type of x, ", element_name(problem.element),
               ", and ", element_name(problem.result_element()), " is asked for");
  }
  if (problem.gathered) return "the reference kernel does not return the gathered x";
  return "";
}

}  // namespace

std::string block_sizes_text(std::int64_t bn, std::int64_t bk) {
  return cat("bn=", bn, " bk=", bk);
}

BlockSizes tuned_block_sizes(const Problem& problem, const Chip& chip) {
  check(problem);
  const std::int64_t cols = problem.n[0] / problem.num_devices();
  if (cols % kLanes != 0 || problem.k % kLanes != 0) {
    throw Error(ErrorCode::kUnsupported,
                cat("the reference kernel has no block sizes for n / P = ", cols,
                    " and k = ", problem.k, "; both must be multiples of ", kLanes));
  }
  const TunedShape& shape = nearest_shape(problem);
  BlockSizes best, best_that_fits;
  double least = std::numeric_limits<double>::infinity(), least_that_fits = least;
  const std::vector<std::int64_t> k_blocks = blocks_of(problem.k);
  for (const std::int64_t bn : blocks_of(cols)) {
    for (const std::int64_t bk : k_blocks) {
      const double far =
          distance(double(bn), double(shape.bn)) + distance(double(bk), double(shape.bk));
      if (far < least) {
        least = far;
        best.bn = bn;
        best.bk = bk;
      }
      if (far < least_that_fits && fits(problem, chip, bn, bk)) {
        least_that_fits = far;
        best_that_fits.bn = bn;
        best_that_fits.bk = bk;
      }
    }
  }
  // Where none fits, the message that says so has the bytes of the nearest.
  if (best_that_fits.bn != 0) best = best_that_fits;
  best.tuned = problem.num_devices() == kTunedDevices && problem.m == shape.m &&
               problem.n[0] == shape.n && problem.k == shape.k && chip.generation == 6 &&
               problem.element == Element::kBF16;
  best.from = cat("m=", shape.m, " k=", shape.k, " n=", shape.n, ", ", kTunedDevices, " devices");
  return best;
}

ReferenceChoice choose_reference(const Problem& problem, const Chip& chip,
                                 const KernelOptions& options) {
  ReferenceChoice choice;
  choice.options = options_of(problem, options);
  choice.refused = why_not_offered(problem);
  if (!choice.refused.empty()) return choice;
  if (options.bn == 0 || options.bk == 0) {
    const std::int64_t cols = problem.n[0] / problem.num_devices();
    // Else the extents are refused below.
    if (cols % kLanes == 0 && problem.k % kLanes == 0) {
      const BlockSizes tuned = tuned_block_sizes(problem, chip);
      if (options.bn == 0) choice.options.bn = tuned.bn;
      if (options.bk == 0) choice.options.bk = tuned.bk;
    }
  }
  choice.refused = why_not_reference(choice.options, chip);
  return choice;
}

}  // namespace cmm::tpu
