// What this machine can do at most, measured: the figures that shares refer to.
#pragma once

#include "cmm/dtype.hpp"
#include "cmm/isa.hpp"

namespace cmm::cli {

struct MachinePeak {
  double flops = 0;       // per second: the multiply's tile fed from L1, on num_cores cores
  double read_bytes = 0;  // per second: memory read with several streams, by one core where
                          // num_cores is 1, else by all of the machines
  int num_cores = 1;
};

// What that many cores can do, if all machines are like this one. Throws as known_machine, which
// measures it.
struct CoresInUse {
  int num_cores = 1;
  int num_machines = 1;
};
MachinePeak machine_peak(Isa isa, DType dtype, const CoresInUse& use);

}  // namespace cmm::cli
