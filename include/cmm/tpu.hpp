// The all-gather matmul on TPUs: kernels, their proof on virtual devices, their simulated time, and
// what a caller of the JAX function wants to know beforehand. docs/tpu.md walks through it.
#pragma once

#include "cmm/tpu_call.hpp"
#include "cmm/tpu_chip.hpp"
#include "cmm/tpu_compile.hpp"
#include "cmm/tpu_kernel.hpp"
#include "cmm/tpu_simulate.hpp"
#include "cmm/tpu_times.hpp"
#include "cmm/tpu_verify.hpp"
