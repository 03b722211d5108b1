#include "machine_peak.hpp"

#include <algorithm>

#include "cmm/machine.hpp"

namespace cmm::cli {

MachinePeak machine_peak(Isa isa, DType dtype, int num_threads) {
  const Machine machine = known_machine(isa, dtype);
  const int num_cores = std::min(num_threads, machine.num_cores);
  return {.flops = machine.l1_flops * num_cores,
          .read_bytes =
              num_cores == 1 ? machine.core_read_bytes_per_second : machine.read_bytes_per_second,
          .num_cores = num_cores};
}

}  // namespace cmm::cli
