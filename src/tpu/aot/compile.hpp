// Compiles a kernel with libtpu.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tpu/aot/slice.hpp"
#include "tpu/emit/custom_call.hpp"
#include "tpu/emit/stablehlo.hpp"
#include "tpu/kernels/kernel.hpp"

namespace cmm::tpu::aot {

struct CompileOptions {
  emit::BodyOptions body;
  emit::Wrapper wrapper = emit::Wrapper::kSdy;
  std::vector<int> slice;       // in chips; empty: the smallest that has enough devices
  std::vector<int> assignment;  // empty: rings along neighbours
  std::string libtpu;           // empty: found, see find_libtpu()
  std::string worker;           // empty: found, see find_worker()
  std::string dump;             // a folder for the compiler's schedule; empty: none is written
  double timeout_seconds = 600;
};

struct Compiled {
  std::string libtpu;    // path
  std::string version;   // what libtpu says of itself, one line
  std::string topology;  // "v6e:2x4"
  std::vector<int> assignment;
  int longest_hop = 0;      // of the rings, in links
  std::string fingerprint;  // in hexadecimal
  std::string executable;   // serialized: what PJRT loads on a TPU
  std::int64_t code_bytes = 0;
  // Of one device.
  std::int64_t argument_bytes = 0, output_bytes = 0, temporary_bytes = 0;
  double compile_seconds = 0;  // libtpu's own
  double seconds = 0;          // with starting it
};

// What libtpu would not see and hardware would: throws Error(kInvalidArgument) with
// check_program()'s fault, or where a kernel sends to others and does not await their entry.
void check_kernel(const Kernel& kernel, const Chip& chip);

// Throws Error: kInvalidArgument for what check_kernel(), make_slice() or check_assignment() find;
// kOutOfMemory where the kernel needs more of the chip's memories than there is; kUnsupported where
// libtpu is missing, cannot be started, or refuses the kernel; kDeadline. Messages name the line of
// the body, what its statement is for, and what to change.
Compiled compile(const Kernel& kernel, const Chip& chip, const CompileOptions& options);

// A module of one's own, for the kernel's slice and mesh: what `compile` does with the one it
// makes.
Compiled compile_module(const std::string& module, const emit::MosaicText& body,
                        const Kernel& kernel, const Chip& chip, const CompileOptions& options);

}  // namespace cmm::tpu::aot
