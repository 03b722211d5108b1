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
constexpr std::int64_t kProbeBytes = kMeasureMachineBytes / 2;
// Read before, as so little takes no time. Where all of it would take this long, as under a
// sanitizer, which needs seconds, the rate of the little is as good: that of the core, not memory.
constexpr std::int64_t kFirstProbeBytes = std::int64_t{1} << 20;
constexpr double kMostPassSeconds = 0.1;

double read_bandwidth(int num_threads, std::int64_t bytes) {
  return gemm::measure_read_bandwidth(
      {.num_threads = num_threads, .num_streams = kStreams, .bytes = bytes});
}

std::int64_t choose_probe_bytes() {
  const double seconds = static_cast<double>(kProbeBytes) / read_bandwidth(1, kFirstProbeBytes);
  return seconds < kMostPassSeconds ? kProbeBytes : kFirstProbeBytes;
}

}  // namespace

Machine measure_machine(Isa isa, DType dtype) {
  Machine machine;
  machine.num_cores = num_allowed_cores();
  const gemm::PeakFlops peak = gemm::measure_peak(gemm::kernels(isa), dtype, kPeakSeconds);
  machine.register_flops = peak.registers;
  machine.l1_flops = peak.l1_fed;
  const std::int64_t bytes = choose_probe_bytes();
  machine.core_read_bytes_per_second = read_bandwidth(1, bytes);
  machine.read_bytes_per_second =
      machine.num_cores == 1 ? machine.core_read_bytes_per_second
                             : read_bandwidth(machine.num_cores, bytes / machine.num_cores * 2);
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
