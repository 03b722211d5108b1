// Which engine multiplies fastest? Ours against oneDNN, OpenBLAS and MKL, for the layers of Llama
// models, by type, rows and threads.
//
// All contenders of a row of the table take turns in one process, so that a busy minute meets all
// alike; a ratio is the median over the rounds of the ratio within a round. For few rows the
// weights are cold: copies that together are far larger than the last cache are used in turn.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>

#include "base/clock.hpp"
#include "base/integers.hpp"
#include "cmm/cmm.hpp"
#include "cmm/machine.hpp"
#include "contender.hpp"
#include "report.hpp"

namespace cmm::bench {
namespace {

constexpr std::int64_t kColdRows = 64;  // up to here the weights' way from memory counts
constexpr double kSampleSeconds = 2e-3;

struct Shape {
  std::int64_t k = 0;
  std::int64_t n = 0;
};

struct Options {
  std::vector<std::string> dtypes = {"f32", "bf16"};
  std::vector<std::int64_t> m = {1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096};
  // Llama 2 7B and 3 8B: attention, up and down projections, the last also as ranks share them.
  std::vector<std::string> shapes = {"4096x4096", "4096x14336", "14336x4096", "8192x1024",
                                     "4096x28672"};
  std::vector<int> threads = {1, 2};
  std::int64_t cold_mib = 300;
  int rounds = 9;
  std::string mkl = "build/mkl/libmkl_rt.so.3";
  bool quick = false;
  std::string json;
};

Shape parse_shape(const std::string& text) {
  Shape shape;
  if (std::sscanf(text.c_str(), "%ldx%ld", &shape.k, &shape.n) != 2 || shape.k < 1 || shape.n < 1) {
    throw std::runtime_error("--shape " + text + ": it must be KxN, such as 4096x14336");
  }
  return shape;
}

// After a parallel product the threads of a library spin for up to tens of milliseconds, on the
// core of whoever comes next.
void let_other_threads_sleep(int num_threads) {
  if (num_threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));
}

// One row of the table for one contender.
struct Series {
  Contender* contender = nullptr;
  int calls = 1;  // timed together
  int next_copy = 0;
  bool is_right = true;
  std::vector<double> seconds = {};  // of one call, by round
};

class Sweep {
 public:
  Sweep(const Options& options, std::vector<std::unique_ptr<Contender>>& contenders)
      : options_(options), contenders_(contenders) {}

  nlohmann::json run() {
    nlohmann::json rows = nlohmann::json::array();
    for (const std::string& dtype : options_.dtypes) {
      for (const std::string& shape : options_.shapes) {
        run_shape(parse_dtype(dtype), parse_shape(shape), rows);
      }
    }
    return rows;
  }

 private:
  void run_shape(DType dtype, Shape shape, nlohmann::json& rows) {
    const auto elem_bytes = static_cast<std::int64_t>(dtype_bytes(dtype));
    const std::int64_t max_m = *std::max_element(options_.m.begin(), options_.m.end());
    AlignedBuffer y(shape.k * shape.n * elem_bytes);
    AlignedBuffer x(max_m * shape.k * elem_bytes);
    fill_random(y, dtype);
    fill_random(x, dtype);
    out_ = AlignedBuffer(max_m * shape.n * 4);
    right_ = AlignedBuffer(max_m * shape.n * 4);
    const int cold_copies = static_cast<int>(ceil_div(options_.cold_mib << 20, y.bytes()) + 1);
    for (const int num_threads : options_.threads) {
      const Machine before = measure_machine(default_isa(), dtype);
      print_head(dtype, shape, num_threads, before);
      for (const std::int64_t m : options_.m) {
        const Contender::Job job = {.y = {y.data(), dtype, shape.k, shape.n, shape.n},
                                    .m = m,
                                    .num_copies = m <= kColdRows ? cold_copies : 1,
                                    .num_threads = num_threads};
        const std::vector<Series> all = measure(job, {x.data(), dtype, m, shape.k, shape.k});
        report(job, all, before, rows);
      }
    }
    for (const auto& contender : contenders_) contender->release();
  }

  std::vector<Series> measure(const Contender::Job& job, const ConstMatrixRef& x) {
    std::vector<Series> all;
    for (const auto& contender : contenders_) {
      if (contender->multiplies(x.dtype)) all.push_back({.contender = contender.get()});
    }
    const MatrixRef out(out_.data(), DType::kF32, job.m, job.y.cols, job.y.cols);
    for (Series& series : all) {
      series.contender->prepare(job);
      series.contender->multiply(x, out, 0);  // generates code, starts threads
      if (&series == &all.front()) {
        std::swap(out_, right_);
      } else {
        series.is_right = agrees(out, job.y.rows);
      }
    }
    const MatrixRef to(out_.data(), DType::kF32, job.m, job.y.cols, job.y.cols);
    for (Series& series : all) {
      const double seconds = sample(series, job, x, to);
      series.calls = static_cast<int>(std::ceil(kSampleSeconds / std::max(seconds, 1e-7)));
    }
    for (int round = 0; round < options_.rounds; ++round) {
      for (std::size_t i = 0; i < all.size(); ++i) {  // none is always first
        Series& series = all[(i + static_cast<std::size_t>(round)) % all.size()];
        series.seconds.push_back(sample(series, job, x, to));
      }
    }
    return all;
  }

  double sample(Series& series, const Contender::Job& job, const ConstMatrixRef& x,
                const MatrixRef& out) {
    let_other_threads_sleep(job.num_threads);
    // What other programs took of the core does not count where a clock can tell it apart.
    const auto clock = job.num_threads == 1 ? thread_cpu_seconds : wall_seconds;
    const double begin = clock();
    for (int call = 0; call < series.calls; ++call) {
      series.next_copy = (series.next_copy + 1) % job.num_copies;
      series.contender->multiply(x, out, series.next_copy);
    }
    return (clock() - begin) / series.calls;
  }

  // Sums of k terms of magnitude below 1, in any order: they differ by at most 2 k roundings of
  // partial sums, in the mean far less. A wrong product differs by the size of a term.
  bool agrees(const MatrixRef& out, std::int64_t k) const {
    const auto* other = static_cast<const float*>(out.data);
    const auto* own = right_.as<float>();
    const double limit = 1e-5 * static_cast<double>(k);
    for (std::int64_t i = 0; i < out.rows * out.cols; ++i) {
      if (!(std::abs(static_cast<double>(other[i]) - own[i]) <= limit)) return false;
    }
    return true;
  }

  void print_head(DType dtype, Shape shape, int num_threads, const Machine& machine) const {
    std::printf("\n%s, y [%ld, %ld], %d thread%s; L1-fed loop %.0f GFLOP/s, reading %.1f GB/s\n",
                dtype_name(dtype).data(), shape.k, shape.n, num_threads,
                num_threads == 1 ? "" : "s", 1e-9 * peak(machine, num_threads),
                1e-9 * reading(machine, num_threads));
    std::printf("%6s %9s %15s %7s %7s", "m", "own GF/s", "quartiles", "of peak", "of read");
    for (std::size_t i = 1; i < contenders_.size(); ++i) {
      if (contenders_[i]->multiplies(dtype)) {
        std::printf(" %10s %6s", contenders_[i]->name().c_str(), "/ own");
      }
    }
    std::printf("\n");
  }

  static double peak(const Machine& machine, int num_threads) {
    return machine.l1_flops * std::min(num_threads, machine.num_cores);
  }
  static double reading(const Machine& machine, int num_threads) {
    return num_threads == 1 ? machine.core_read_bytes_per_second : machine.read_bytes_per_second;
  }

  void report(const Contender::Job& job, const std::vector<Series>& all, const Machine& machine,
              nlohmann::json& rows) const {
    const double flops = 2.0 * static_cast<double>(job.m) * static_cast<double>(job.y.rows) *
                         static_cast<double>(job.y.cols);
    const double bytes = static_cast<double>(job.y.rows) * static_cast<double>(job.y.cols) *
                         static_cast<double>(dtype_bytes(job.y.dtype));
    for (const Series& series : all) {
      const Spread time = spread(series.seconds);
      std::vector<double> ratios;
      for (std::size_t i = 0; i < series.seconds.size(); ++i) {
        ratios.push_back(series.seconds[i] / all[0].seconds[i]);
      }
      const Spread ratio = spread(ratios);
      const double share_of_peak = flops / time.median / peak(machine, job.num_threads);
      const double share_of_read = bytes / time.median / reading(machine, job.num_threads);
      if (&series == &all.front()) {
        std::printf("%6ld %9.1f %7.1f-%-7.1f %6.0f%% %6.0f%%", job.m, 1e-9 * flops / time.median,
                    1e-9 * flops / time.high_quartile, 1e-9 * flops / time.low_quartile,
                    100 * share_of_peak, 100 * share_of_read);
      } else {
        std::printf(" %10.1f %6.2f%s", 1e-9 * flops / time.median, ratio.median,
                    series.is_right ? "" : " WRONG");
      }
      rows.push_back({{"engine", series.contender->name()},
                      {"is_right", series.is_right},
                      {"dtype", dtype_name(job.y.dtype)},
                      {"num_threads", job.num_threads},
                      {"m", job.m},
                      {"k", job.y.rows},
                      {"n", job.y.cols},
                      {"clock", job.num_threads == 1 ? "processor time" : "wall"},
                      {"cold_weights", job.m <= kColdRows},
                      {"seconds", to_json(time)},
                      {"gflops", 1e-9 * flops / time.median},
                      {"weight_gigabytes_per_second", 1e-9 * bytes / time.median},
                      {"share_of_l1_fed", share_of_peak},
                      {"share_of_read", share_of_read},
                      {"seconds_over_own", to_json(ratio)}});
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  const Options& options_;
  std::vector<std::unique_ptr<Contender>>& contenders_;
  AlignedBuffer out_;
  AlignedBuffer right_;
};

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Compares engines on the local product");
  CLI::Option* m = app.add_option("--m", options.m, "rows of x")->check(CLI::PositiveNumber);
  CLI::Option* shapes = app.add_option("--shape", options.shapes, "KxN of y");
  app.add_option("--dtype", options.dtypes, "f32, bf16, f16");
  app.add_option("--threads", options.threads, "numbers of threads")->check(CLI::PositiveNumber);
  app.add_option("--cold-mib", options.cold_mib, "memory of the copies of y")
      ->check(CLI::PositiveNumber);
  CLI::Option* rounds =
      app.add_option("--rounds", options.rounds, "samples per figure")->check(CLI::PositiveNumber);
  app.add_option("--mkl", options.mkl, "path of libmkl_rt");
  app.add_flag("--quick", options.quick, "fewer shapes, rows and rounds: a minute or two");
  app.add_option("--json", options.json, "file for the figures");
  CLI11_PARSE(app, argc, argv);
  if (options.quick) {
    if (m->count() == 0) options.m = {1, 4, 16, 64, 256, 1024};
    if (shapes->count() == 0) options.shapes = {"4096x4096"};
    if (rounds->count() == 0) options.rounds = 5;
  }

  std::vector<std::string> missing;
  auto contenders = all_contenders(options.mkl, missing);
  nlohmann::json engines;
  for (const auto& contender : contenders) {
    std::printf("%s: %s\n", contender->name().c_str(), contender->description().c_str());
    engines[contender->name()] = contender->description();
  }
  for (const std::string& reason : missing) std::printf("not measured: %s\n", reason.c_str());
  const nlohmann::json rows = Sweep(options, contenders).run();
  write_json(options.json, {{"engines", engines}, {"missing", missing}, {"products", rows}});
  return 0;
}

}  // namespace
}  // namespace cmm::bench

int main(int argc, char** argv) {
  return cmm::bench::run_program("bench_gemm_sweep", cmm::bench::run, argc, argv);
}
