// The extension module `collective_matmul._core`: the public C++ interface as Python sees it. Each
// file binds one part of it. The Python package around it gives arrays to the module as addresses
// with extents (Matrix), keeps them alive during a call, and owns all that users see.
#pragma once

#include <nanobind/nanobind.h>

namespace cmm::python {

// cmm::Error becomes the exception class of its code in collective_matmul.errors.
void bind_errors(nanobind::module_& module);
void bind_ffi(nanobind::module_& module);     // handlers for CPU devices of JAX
void bind_ranks(nanobind::module_& module);   // Mesh, Axis, Memory
void bind_matmul(nanobind::module_& module);  // Matrix, Weights, Plan, the calls
void bind_tpu(nanobind::module_& module);     // tpu: Problem, custom_call, describe
// simulate_hosts, simulate_slice, tpu.simulate, tpu.verify, Timeline; after bind_tpu
void bind_simulate(nanobind::module_& module);

}  // namespace cmm::python
