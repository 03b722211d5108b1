// The all-gather matmul on TPUs: kernels, their proof on virtual devices and their simulated time.
// Nothing here needs a TPU, and nothing here is collective.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmm/tpu_chip.hpp"

namespace cmm::tpu {

// out [m, n / P] on each device = all_gather(x) [m, k] · y [k, n / P], for one or more right sides.
struct Problem {
  std::vector<int> mesh = {8};  // devices, row-major
  int axis = 0;                 // of the mesh, along which x is gathered
  std::int64_t m = 0;  // of all devices; the last ones hold fewer rows where P does not divide it
  std::int64_t k = 0;
  std::vector<std::int64_t> n;  // of all devices, of each right side; multiples of P
  Element element = Element::kBF16;
  std::optional<Element>
      out_element;              // f32 or int32, or as `element`; empty: `element`, int32 for int8
  bool rhs_transposed = false;  // y is [n, k]
  bool gathered = false;        // all of x is an output, too
};

// Which kernel. kAuto: the fastest of the three by the simulator.
enum class Schedule : std::uint8_t { kAuto, kReference, kWavefront, kSequential };

struct KernelOptions {
  Schedule schedule = Schedule::kAuto;
  std::int64_t bn = 0;  // of the reference kernel; 0: as tuned for the nearest shape
  std::int64_t bk = 0;
  std::string parameters;  // of the wavefront kernel, as tune() prints them; empty: the best known
  int collective_id = 0;
  bool debug = false;
};

}  // namespace cmm::tpu
