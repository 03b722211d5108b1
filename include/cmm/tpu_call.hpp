// What a caller of the JAX function `all_gather_matmul(x, y, mesh, axis_name, ...)` wants to know
// before the call: are the arguments right, what does it need, which block sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmm/tpu_kernel.hpp"

namespace cmm::tpu {

struct MeshAxis {
  std::string name;
  int size = 1;
};

// The arguments of the function, with shapes and types in place of arrays.
struct Call {
  std::vector<std::int64_t> x_shape;  // global: [m, k]
  std::vector<std::int64_t> y_shape;  // [k, n], or [n, k] where rhs_transpose
  std::string x_dtype = "bfloat16";   // as JAX names them, or as element_name() does
  std::string y_dtype = "bfloat16";
  std::vector<MeshAxis> mesh;
  std::string axis_name;
  std::optional<int> collective_id = 0;
  std::optional<std::int64_t> bn;  // empty: as tuned
  std::optional<std::int64_t> bk;
  bool rhs_transpose = false;
  // kReference: as the reference kernel takes it. Else with our kernels, which take ragged and
  // small extents and one device, too.
  Schedule schedule = Schedule::kAuto;
};

// What is right or wrong whatever machine it is for: shapes, block sizes above 0, axis_name,
// collective_id. Throws Error(kInvalidArgument).
void check(const Call& call);

// All of it, for one chip. Throws Error(kInvalidArgument), or Error(kUnsupported) where no kernel
// fits the chip.
void validate_inputs(const Call& call, const Chip& chip);

// What a valid call asks for. Both throw as validate_inputs().
Problem problem_of(const Call& call, const Chip& chip);
KernelOptions kernel_options_of(const Call& call, const Chip& chip);

// An element type by JAX's name ("bfloat16") or that of element_name(). Throws
// Error(kInvalidArgument), with the name of the operand and the types that there are.
Element element_of(std::string_view operand, std::string_view dtype);

// Block sizes of the reference kernel for the nearest shape it has been tuned for, made to divide
// this one: bn divides n / P and bk divides k, both in multiples of 128.
struct BlockSizes {
  std::int64_t bn = 0;
  std::int64_t bk = 0;
  bool tuned = false;  // for just this shape
  std::string from;    // "m=1024 n=51200 k=5120, 8 devices": the shape it was tuned for
};
// Throws Error(kUnsupported) where n / P or k is no multiple of 128.
BlockSizes tuned_block_sizes(const Problem& problem, const Chip& chip);

// Bytes of VMEM of one device, each buffer padded to the chip's tiles, whether they fit or not.
std::int64_t vmem_estimate_bytes(const Problem& problem, const Chip& chip,
                                 const KernelOptions& options);

// Work and traffic of one device. Other than JAX's CostEstimate it has the remote bytes, and HBM
// traffic that a kernel causes beyond reading each operand once.
struct CostEstimate {
  std::int64_t flops = 0;
  std::int64_t hbm_bytes = 0;
  std::int64_t remote_bytes = 0;
};
CostEstimate cost_estimate(const Problem& problem, const Chip& chip, const KernelOptions& options);

std::string kernel_name(const Problem& problem, const Chip& chip, const KernelOptions& options);

}  // namespace cmm::tpu
