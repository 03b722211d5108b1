// The real kernel: what XLA takes, and what the TPU compiler makes of it. Emission needs nothing;
// a compile needs libtpu (x86-64 Linux, no TPU), which runs in a process of its own.
//
// Functions throw Error as those of cmm/tpu_kernel.hpp do. compile_kernel() also kUnsupported where
// libtpu or the program it runs in is missing or refuses the kernel, kOutOfMemory where the kernel
// needs more of a memory than the chip has, kDeadline: the message names the line of the body, what
// that line is for, and what to change.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cmm/tpu_simulate.hpp"

namespace cmm::tpu {

// How the devices get their parts: matrices of all devices with the shardings of Shardy, as JAX
// writes them, or with the older ones of GSPMD; or matrices of one device, each device a replica.
enum class Wrapper : std::uint8_t { kSdy, kGspmd, kReplica };
std::string_view wrapper_name(Wrapper wrapper);  // "sdy", "gspmd", "replica"
Wrapper parse_wrapper(std::string_view name);    // throws Error(kInvalidArgument)

struct EmitOptions {
  int mosaic_version = 8;  // 7 to 20; 8 is taken by libtpu 0.0.24 and later
  bool bytecode = false;   // the body as MLIR bytecode in the module, instead of as text
  Wrapper wrapper = Wrapper::kSdy;
  // The compiler's own checks, while the kernel runs, that copies lie inside of their buffers: some
  // 20 cycles each. Kernels are made of schedules that are proved, so they find nothing.
  bool bounds_checks = false;
};

struct Emitted {
  std::string name;    // of the kernel
  std::string body;    // Mosaic, as text whatever the form
  std::string config;  // the custom call's backend_config, in JSON, with the body in base64
  std::string module;  // StableHLO
  // Of each line of the body, from 1 on: what it is for, or "".
  std::vector<std::string> notes_of_lines;
  double seconds = 0;  // of processor time that emission took
};
Emitted emit_kernel(const Problem& problem, const Chip& chip, const KernelOptions& kernel = {},
                    const EmitOptions& options = {});

// The custom call alone, for a program that has a module of its own, as JAX does. Each device gives
//   the table, where there is one: a constant int32 vector;
//   x [ceil(m / P), k], and y [k, n / P] or [n / P, k] of each right side, each with zeros added
//     below and to the right up to the operand's shape [rows, ...].
// The call returns out [P * rows, ...] of each right side, then x of all devices [P * rows, ...]
// where it is gathered, then scratch in HBM that nobody wants. Of each device's `rows` rows the
// first ceil(m / P) count, and of the columns as many as were asked for. All are row-major.
struct Tensor {
  Element element = Element::kF32;
  std::vector<std::int64_t> shape;
};
struct CustomCall {
  std::string name;                 // of the kernel
  std::string config;               // backend_config of a call of tpu_custom_call
  std::vector<std::int32_t> table;  // the first operand; empty: there is none
  std::vector<Tensor> operands;     // x and the right sides
  std::vector<Tensor> results;      // with the scratch
};
CustomCall custom_call(const Problem& problem, const Chip& chip, const KernelOptions& kernel = {},
                       const EmitOptions& options = {});

struct CompileOptions {
  EmitOptions emit;
  std::vector<int> slice;    // in chips, as {2, 4} or {2, 2, 1}; empty: the smallest that will do
  std::vector<int> devices;  // of the slice, one for each of the mesh; empty: along neighbours
  std::string libtpu;        // a file or folder; empty: $CMM_LIBTPU, else a Python environment
  double timeout_seconds = 600;
  bool report = false;  // read the compiler's schedule
};

struct ScheduleBlock {
  std::int64_t address = 0;
  std::int64_t cycles = 0;
  std::int64_t num_products = 0;  // 0: control
  double mxu_busy = 0;            // 0 .. 1
  double model_cycles = 0;        // of a product, by the simulator's model; 0: not known
  int body = -1;                  // of the wavefront kernel's parameters
};
struct CompileReport {
  std::vector<ScheduleBlock> blocks;  // of the loop of the steps
  std::int64_t product_cycles = 0;    // of the largest block that multiplies
  std::int64_t model_cycles = 0;      // the same by the simulator's model
  std::int64_t control_cycles = 0;    // of the others
  double mxu_busy = 0;                // of a step with that block, control included: 0 .. 1
  std::int64_t vmem_bytes = 0;        // up to the end of the highest allocation
  std::int64_t spill_bytes = 0;       // of it, registers that the compiler spills
  std::int64_t num_copy_starts = 0;   // in the code; the program's own are in the description
  std::int64_t num_copy_awaits = 0;
  std::int64_t num_remote_signals = 0;
  std::int64_t num_operands_moved = 0;  // that XLA has put into VMEM: none
};

struct Compilation {
  KernelDescription kernel;
  std::string libtpu;        // its path
  std::string version;       // what it says of itself
  std::string topology;      // "v6e:2x4"
  std::vector<int> devices;  // of the slice, for each of the mesh
  int longest_hop = 0;       // between neighbours on a ring, in links
  std::string fingerprint;
  std::string executable;  // serialized, to be loaded on a TPU
  std::int64_t code_bytes = 0;
  std::int64_t argument_bytes = 0, output_bytes = 0, temporary_bytes = 0;  // HBM of one device
  std::int64_t scoped_vmem_bytes = 0;  // that the kernel asks XLA for
  double compile_seconds = 0, seconds = 0;
  CompileReport report;  // where it was asked for
};
Compilation compile_kernel(const Problem& problem, const Chip& chip,
                           const KernelOptions& kernel = {}, const CompileOptions& options = {});

// Where a device is: its chip's place on the network, and which of the chip's cores it is.
struct DevicePlace {
  std::vector<int> chip;  // x, y, z
  int core = 0;
};
// The devices, by their positions in `devices`, ring by ring of `ring_size` (which divides their
// number): each device, and the first after the last, is on the chip of the one before it or beside
// it, where the devices fill a box that has such rings. Throws Error(kInvalidArgument): two at one
// place, places that are too far apart, a ring size that does not divide.
std::vector<int> ring_order(const std::vector<DevicePlace>& devices, int ring_size);

// What the compiler makes of one of the best candidates of a search.
struct VerifiedCandidate {
  std::string parameters;
  double model_seconds = 0;
  double seconds = 0;  // the same with the cycles of the compiler's schedule; 0: refused
  CompileReport report;
  std::string refused;  // why it does not compile; or empty
};
struct VerifiedTuning {
  Tuned tuned;  // the best by the compiler's cycles: `seconds` are by them, too
  std::vector<VerifiedCandidate> candidates;  // in the order of model_seconds
};
// tune(), and then a compile of the best `num_compiled` candidates that differ in what their steps
// multiply. Throws as compile_kernel(), for a missing libtpu before the search; where libtpu
// refuses some of the candidates the others go on, where it refuses all the error is the first's.
VerifiedTuning tune_verified(const Problem& problem, const Chip& chip, int num_compiled = 3,
                             const TuneOptions& options = {}, const CompileOptions& compile = {});

}  // namespace cmm::tpu
