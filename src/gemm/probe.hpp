// The yardsticks of a product on this machine, measured: how fast a core multiplies and how fast
// threads read memory. Benchmarks print shares of them, the cost model plans with them.
#pragma once

#include <cstdint>

#include "cmm/dtype.hpp"
#include "gemm/kernels.hpp"

namespace cmm::gemm {

// Floating-point operations per second of one core; a multiply-add counts as two.
struct PeakFlops {
  double registers = 0;  // multiply-adds between registers
  double l1_fed = 0;     // the 6 x 64 tile over one k block, operands and accumulators in L1: the
                         // ceiling of any product
};

// Multiplies for about `seconds` on the calling thread. Best of many short runs in thread CPU time,
// so that other load on the machine hardly counts. Throws Error(kOutOfMemory).
PeakFlops measure_peak(const Kernels& kernels, DType dtype, double seconds);

struct ReadProbe {
  int num_threads = 1;
  int num_streams = 4;     // 1, 2, 4, 8 or 16, read in turn by each thread; one is seldom enough
  std::int64_t bytes = 0;  // of each thread; far beyond the last cache for the speed of memory
  int repeats = 3;
};

// Bytes per second that the threads read together: best of `repeats` passes. One thread is the
// calling one and is timed in CPU time, several are started and timed by the wall clock.
// Throws Error(kOutOfMemory).
double measure_read_bandwidth(const ReadProbe& probe);

}  // namespace cmm::gemm
