// How fast is this machine? Multiply-adds from registers and fed from L1, per instruction set and
// type, and reading of memory by 1 ... 16 streams per thread. The yardsticks of all other figures.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <thread>

#include "gemm/kernels.hpp"
#include "gemm/probe.hpp"
#include "report.hpp"

namespace cmm::bench {
namespace {

struct Options {
  std::vector<std::string> isas;
  double seconds = 0.5;
  std::int64_t read_mib = 256;
  bool quick = false;
  std::string json;
};

nlohmann::json measure_multiplying(const Options& options) {
  std::printf("%-13s %-5s %12s %10s %7s   GFLOP/s of one core\n", "isa", "type", "registers",
              "L1-fed", "share");
  nlohmann::json rows = nlohmann::json::array();
  for (Isa isa : chosen_isas(options.isas)) {
    for (DType dtype : {DType::kF32, DType::kBF16}) {
      // Types are widened to f32 but for the native pairs: nothing new to measure.
      if (dtype == DType::kBF16 && !gemm::kernels(isa).bf16.bf16_pairs) continue;
      const gemm::PeakFlops peak = gemm::measure_peak(gemm::kernels(isa), dtype, options.seconds);
      const double share = peak.l1_fed / peak.registers;
      std::printf("%-13s %-5s %12.1f %10.1f %6.1f%%\n", isa_name(isa).data(),
                  dtype_name(dtype).data(), 1e-9 * peak.registers, 1e-9 * peak.l1_fed, 100 * share);
      rows.push_back({{"isa", isa_name(isa)},
                      {"dtype", dtype_name(dtype)},
                      {"registers_gflops", 1e-9 * peak.registers},
                      {"l1_fed_gflops", 1e-9 * peak.l1_fed},
                      {"share_of_registers", share}});
    }
  }
  return rows;
}

nlohmann::json measure_reading(const Options& options) {
  std::printf("\n%-8s %-8s %10s   of %lld MiB per thread\n", "threads", "streams", "GB/s",
              static_cast<long long>(options.read_mib));
  nlohmann::json rows = nlohmann::json::array();
  const int num_cores = static_cast<int>(std::thread::hardware_concurrency());
  for (int num_threads = 1; num_threads <= num_cores; num_threads *= 2) {
    for (int num_streams : {1, 2, 4, 8, 16}) {
      const double rate = gemm::measure_read_bandwidth({.num_threads = num_threads,
                                                        .num_streams = num_streams,
                                                        .bytes = options.read_mib << 20,
                                                        .repeats = 5});
      std::printf("%-8d %-8d %10.1f\n", num_threads, num_streams, 1e-9 * rate);
      rows.push_back({{"num_threads", num_threads},
                      {"num_streams", num_streams},
                      {"gigabytes_per_second", 1e-9 * rate}});
    }
  }
  return rows;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Measures multiply-add peak and read bandwidth");
  app.add_option("--isa", options.isas, "instruction sets (default: all of this machine)");
  app.add_option("--seconds", options.seconds, "time per multiply-add figure")
      ->check(CLI::PositiveNumber);
  app.add_option("--read-mib", options.read_mib, "memory read per thread")
      ->check(CLI::Range(1, 1 << 20));
  app.add_flag("--quick", options.quick, "a tenth of a second per multiply-add figure");
  app.add_option("--json", options.json, "file for the figures");
  CLI11_PARSE(app, argc, argv);
  if (options.quick) options.seconds = 0.1;
  const nlohmann::json multiplying = measure_multiplying(options);
  write_json(options.json, {{"multiply", multiplying}, {"read", measure_reading(options)}});
  return 0;
}

}  // namespace
}  // namespace cmm::bench

int main(int argc, char** argv) {
  return cmm::bench::run_program("bench_peak", cmm::bench::run, argc, argv);
}
