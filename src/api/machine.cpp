#include "cmm/machine.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "base/cores.hpp"
#include "gemm/probe.hpp"

namespace cmm {
namespace {

constexpr double kPeakSeconds = 0.05;
constexpr int kStreams = 4;
// Several times the last cache: half of what may be taken for one core, all of it for all cores.
// A sanitizer takes seconds for that much, and no rate means anything under it.
#ifdef CMM_SANITIZED
constexpr std::int64_t kProbeBytes = std::int64_t{1} << 20;
#else
constexpr std::int64_t kProbeBytes = kMeasureMachineBytes / 2;
#endif

}  // namespace

Machine measure_machine(Isa isa, DType dtype) {
  Machine machine;
  machine.num_cores = num_allowed_cores();
  const gemm::PeakFlops peak = gemm::measure_peak(gemm::kernels(isa), dtype, kPeakSeconds);
  machine.register_flops = peak.registers;
  machine.l1_flops = peak.l1_fed;
  machine.core_read_bytes_per_second = gemm::measure_read_bandwidth(
      {.num_threads = 1, .num_streams = kStreams, .bytes = kProbeBytes});
  machine.read_bytes_per_second =
      machine.num_cores == 1
          ? machine.core_read_bytes_per_second
          : gemm::measure_read_bandwidth({.num_threads = machine.num_cores,
                                          .num_streams = kStreams,
                                          .bytes = kProbeBytes / machine.num_cores * 2});
  return machine;
}

Machine known_machine(Isa isa, DType dtype) {
  static std::mutex mutex;
  static std::map<std::pair<Isa, DType>, Machine> machines;
  const std::lock_guard lock(mutex);
  auto entry = machines.find({isa, dtype});
  if (entry == machines.end()) {
    entry = machines.emplace(std::pair(isa, dtype), measure_machine(isa, dtype)).first;
  }
  return entry->second;
}

}  // namespace cmm
