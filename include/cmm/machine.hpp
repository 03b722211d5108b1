// The yardsticks of this machine, measured in this process.
#pragma once

#include <cstdint>

#include "cmm/dtype.hpp"
#include "cmm/isa.hpp"

namespace cmm {

struct Machine {
  int num_cores = 1;  // this process may run on
  // Floating-point operations per second of one core, a multiply-add counting as two: between
  // registers, and of the multiply's own tile with its operands in L1, which no product exceeds.
  double register_flops = 0;
  double l1_flops = 0;
  // Bytes per second read from memory with several streams, by one core and by all at once.
  double core_read_bytes_per_second = 0;
  double read_bytes_per_second = 0;
};

// Memory that measure_machine() takes at most, and has given back when it returns.
inline constexpr std::int64_t kMeasureMachineBytes = std::int64_t{256} << 20;

// Takes about two thirds of a second on idle cores. Not collective. Throws Error(kUnsupported) for
// an instruction set that cannot run here, Error(kOutOfMemory).
Machine measure_machine(Isa isa, DType dtype);

// The same, measured by the first call in this process for this instruction set and dtype and
// remembered. What Plan::explain() expects is derived from it.
Machine known_machine(Isa isa, DType dtype);

}  // namespace cmm
