#include "machine_peak.hpp"

#include "cmm/machine.hpp"

namespace cmm::cli {

MachinePeak machine_peak(Isa isa, DType dtype, const CoresInUse& use) {
  const Machine machine = known_machine(isa, dtype);
  return {.flops = machine.l1_flops * use.num_cores,
          .read_bytes = use.num_cores == 1 ? machine.core_read_bytes_per_second
                                           : machine.read_bytes_per_second * use.num_machines,
          .num_cores = use.num_cores};
}

}  // namespace cmm::cli
