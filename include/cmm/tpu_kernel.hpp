// What is asked of a TPU, and the kernels that do it. Nothing here needs a TPU, and nothing here is
// collective.
//
// Functions throw Error: kInvalidArgument where a problem or an option cannot be right,
// kUnsupported where the chip or the kernel that was named cannot do it. The message has the values
// and what would be right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmm/tpu_chip.hpp"

namespace cmm::tpu {

// Those of the library's own data, v4 to 7x.
const std::vector<Chip>& chips();
// One of them; the error of an unknown name lists them.
const Chip& chip(std::string_view name);
// Those of a file in the form of chips_text(): a copy that has been edited. Throws Error(kIo) and
// Error(kBadFile) too.
std::vector<Chip> read_chips(const std::string& path);
// The library's own data file: every constant with its unit and its source, in JSON.
std::string chips_text();

inline constexpr int kMaxDevices = 4096;                // of a problem's mesh
inline constexpr std::int64_t kMaxExtent = 2147483647;  // a kernel counts in 32 bits

// out [m, n / P] on each device = all_gather(x) [m, k] · y [k, n / P], for one or more right sides.
struct Problem {
  std::vector<int> mesh = {8};  // devices, row-major; at most kMaxDevices
  int axis = 0;                 // of the mesh, along which x is gathered
  // Extents are at most kMaxExtent each.
  std::int64_t m = 0;  // of all devices; the last ones hold fewer rows where P does not divide it
  std::int64_t k = 0;
  std::vector<std::int64_t> n;  // of all devices, of each right side; multiples of P
  Element element = Element::kBF16;
  // f32 for floats, int32 for int8, or as `element`; empty: `element`, int32 for int8.
  std::optional<Element> out_element;
  bool rhs_transposed = false;  // y is [n, k]
  bool gathered = false;        // all of x is an output, too

  int num_devices() const;  // P: along the axis
  Element result_element() const;
};

// Throws Error(kInvalidArgument) on the first thing that cannot be right whatever the kernel.
void check(const Problem& problem);

// Which kernel. kSequential is XLA's gather followed by one product, which is no kernel of ours: it
// can be simulated, not verified. kAuto: of simulate() the fastest of the three; where a kernel is
// made, by describe(), verify() and the like, nothing is compared: it is the wavefront kernel, and
// the reference kernel where bn or bk is given.
enum class Schedule : std::uint8_t { kAuto, kReference, kWavefront, kSequential };
std::string_view schedule_name(Schedule schedule);  // "auto", "reference", ...
Schedule parse_schedule(std::string_view name);

struct KernelOptions {
  Schedule schedule = Schedule::kAuto;
  // Of a kernel that `schedule` does not name they are refused: Error(kInvalidArgument).
  std::int64_t bn = 0;  // of the reference kernel; 0: as tuned for the nearest shape
  std::int64_t bk = 0;
  std::string parameters;  // of the wavefront kernel, as tune() gives them; empty: the best known
  int collective_id = 0;
  bool debug = false;  // every device prints each phase
};

// What a kernel is, without running it. Figures are of one core: where a device has two, each runs
// the kernel with half of the device's columns.
struct KernelDescription {
  Schedule schedule = Schedule::kWavefront;
  std::string name;        // as a profiler shows it
  std::string parameters;  // "bn=6400 bk=2560", or of the wavefront kernel as tune() gives them
  std::int64_t vmem_bytes = 0;  // of all its buffers, padded to the chip's tiles
  std::int64_t num_semaphores = 0;
  int num_steps = 0;             // of the table, or of the grid
  std::int64_t table_words = 0;  // in SMEM; 0: no table
  std::int64_t num_statements = 0;
  std::int64_t flops = 0;
  std::int64_t hbm_bytes = 0;     // read and written
  std::int64_t remote_bytes = 0;  // sent
};
KernelDescription describe(const Problem& problem, const Chip& chip,
                           const KernelOptions& options = {});
// The program of one device as text, one line a statement, with the table where there is one.
std::string kernel_text(const Problem& problem, const Chip& chip,
                        const KernelOptions& options = {});

}  // namespace cmm::tpu
