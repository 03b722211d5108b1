// The module that XLA compiles: it takes and gives matrices of the extents that were asked for,
// pads them to whole tiles on each device, and calls the kernel.
#pragma once

#include <string>

#include "tpu/kernels/kernel.hpp"

namespace cmm::tpu::emit {

// How the devices get their parts. kSdy: matrices of all devices, with shardings of Shardy, as JAX
// writes them. kGspmd: the same with the older shardings. kReplica: matrices of one device, every
// device a replica.
enum class Wrapper { kSdy, kGspmd, kReplica };

// That is used where `asked` is: one device is a replica, whatever is asked for. There is nothing
// to share out, and libtpu 0.0.24 fails on shardings of one.
Wrapper wrapper_of(const Kernel& kernel, Wrapper asked);

struct ModuleOptions {
  Wrapper wrapper = Wrapper::kSdy;
};

// `config` is that of custom_call(). Arguments: x [m, k], and y [k, n] or [n, k] of each right
// side; results: out [m, n] of each, then x [m, k] where it is gathered. The table is a constant.
std::string stablehlo_module(const Kernel& kernel, const std::string& config,
                             const ModuleOptions& options);

// "x" for the ring's axis, "a0", "a1" for others.
std::string axis_name(const Ring& ring, int axis);

}  // namespace cmm::tpu::emit
