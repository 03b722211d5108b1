// How fast is the local product on one core? Prefill against the L1-fed tile, decode against the
// read bandwidth of memory, both measured in the same rounds. Packing of x is inside the time.
// Weights are cold: copies of them are used in turn, more than any cache holds. Beside packed
// weights, in the same rounds, views of y as [k, n] and as [n, k], packed in cache as they are
// multiplied.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <random>

#include "base/clock.hpp"
#include "gemm/probe.hpp"
#include "gemm/product.hpp"
#include "report.hpp"

namespace cmm::bench {
namespace {

struct Options {
  std::vector<std::string> isas;
  std::vector<std::string> dtypes = {"f32", "bf16"};
  std::vector<std::int64_t> m = {1, 2, 4, 8, 16, 32, 64, 256, 1024};
  std::int64_t k = 4096;
  std::int64_t n = 4096;
  std::int64_t cold_mib = 300;
  int rounds = 12;
  bool quick = false;
  std::string json;
};

// Random bits of a dtype: both signs, magnitudes near 1.
void fill(AlignedBuffer& buffer, DType dtype) {
  std::mt19937 random(1);
  for (std::int64_t i = 0; i < buffer.bytes() / 4; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    buffer.as<std::uint32_t>()[i] = dtype == DType::kF32 ? 0x3f000000u | (bits & 0x807fffffu)
                                                         : 0x3c003c00u | (bits & 0x807f807fu);
  }
}

// How y is given: packed ahead of time, or as it lies, [k, n] or [n, k].
enum class Given { kPacked, kView, kTransposedView };

// x [m, k] times one of several equal copies of y [k, n].
class Problem {
 public:
  Problem(Isa isa, DType dtype, const Options& options)
      : kernels_(gemm::kernels(isa)), dtype_(dtype), k_(options.k), n_(options.n) {
    const std::int64_t elem_bytes = static_cast<std::int64_t>(dtype_bytes(dtype));
    const std::int64_t max_m = *std::max_element(options.m.begin(), options.m.end());
    AlignedBuffer y(round_up(k_ * n_ * elem_bytes, 4));
    fill(y, dtype);
    const std::int64_t weight_bytes = k_ * n_ * elem_bytes;
    const std::int64_t copies = ceil_div(options.cold_mib << 20, weight_bytes);
    for (std::int64_t i = 0; i < copies; ++i) {
      weights_.emplace_back(StridedMatrixRef(y.data(), dtype, k_, n_, n_, 1));
      plain_.emplace_back(static_cast<std::size_t>(ceil_div(y.bytes(), sizeof(Line))));
      std::memcpy(plain_.back().data(), y.data(), static_cast<std::size_t>(y.bytes()));
    }
    x_ = AlignedBuffer(round_up(max_m * k_ * elem_bytes, 4));
    fill(x_, dtype);
    packed_ = AlignedBuffer(gemm::packed_bytes(kernels_, dtype, max_m, k_));
    out_ = AlignedBuffer(max_m * n_ * 4);
  }

  double flops(std::int64_t m) const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(k_) * static_cast<double>(n_);
  }
  double weight_bytes() const { return static_cast<double>(weights_[0].bytes()); }
  bool decodes(std::int64_t m) const { return m <= gemm::max_decode_rows(kernels_, dtype_); }

  void multiply(std::int64_t m, Given given) {
    next_ = (next_ + 1) % weights_.size();
    const bool packed_y = given == Given::kPacked;
    const bool transposed = given == Given::kTransposedView;
    const StridedMatrixRef plain(plain_[next_].data(), dtype_, k_, n_, transposed ? 1 : n_,
                                 transposed ? k_ : 1);
    const gemm::Side side = {.y = packed_y ? &weights_[next_] : nullptr,
                             .view = packed_y ? nullptr : &plain,
                             .out = MatrixRef(out_.data(), DType::kF32, m, n_, n_)};
    const gemm::Product product = {
        .kernels = &kernels_, .dtype = dtype_, .k = k_, .sides = {&side, 1}};
    const ConstMatrixRef x(x_.data(), dtype_, m, k_, k_);
    if (gemm::multiplies_decode(product, m)) {
      gemm::pack_decode({.kernels = &kernels_,
                         .x = x,
                         .m = m,
                         .steps = {0, gemm::num_steps(kernels_, dtype_, k_)},
                         .packed = packed_.data()});
      gemm::multiply_decode(product, packed_.data(), m, {0, 0, side.num_panels()}, workspace_);
      return;
    }
    const std::int64_t num_tiles = gemm::num_tiles(m);
    gemm::pack_tiles(kernels_, x, {0, num_tiles}, packed_.data());
    std::vector<gemm::RowTile> tiles;
    for (std::int64_t t = 0; t < num_tiles; ++t) {
      const Range rows = gemm::tile_rows(m, t);
      tiles.push_back({.packed = packed_.data(),
                       .chunk_rows = m,
                       .chunk_row = rows.begin,
                       .out_row = rows.begin,
                       .rows = static_cast<int>(rows.size())});
    }
    const std::int64_t num_panels = weights_[next_].num_panels();
    const gemm::CallLimits limits = gemm::call_limits(product, num_tiles);
    const std::int64_t calls = ceil_div(num_tiles, limits.tiles);
    const std::int64_t group = limits.panels;
    for (std::int64_t p = 0; p < num_panels; p += group) {
      for (std::int64_t c = 0; c < calls; ++c) {
        const Range part = even_part(num_tiles, calls, c);
        gemm::multiply_tiles(product,
                             std::span(tiles).subspan(static_cast<std::size_t>(part.begin),
                                                      static_cast<std::size_t>(part.size())),
                             {0, p, std::min(p + group, num_panels)}, workspace_);
      }
    }
  }

 private:
  const gemm::Kernels& kernels_;
  DType dtype_;
  std::int64_t k_;
  std::int64_t n_;
  std::vector<gemm::Panels> weights_;
  // y as it is, in the small pages that arrays of Python have.
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<std::vector<Line>> plain_;
  std::size_t next_ = 0;
  AlignedBuffer x_;
  AlignedBuffer packed_;
  AlignedBuffer out_;
  gemm::Workspace workspace_;
};

struct Figure {
  double best_seconds = 1e30;
  std::vector<double> seconds;
  double best_peak = 0;               // of the yardstick, flop/s
  double best_read = 0;               // bytes/s
  std::vector<double> compute_share;  // of each round
  std::vector<double> read_share;
  std::vector<double> view_ratio;  // time over that with packed weights
  std::vector<double> transposed_ratio;
};

// Processor time of a product, after one that brings code and packed x where later calls find them.
double seconds_of(Problem& problem, std::int64_t m, Given given) {
  problem.multiply(m, given);
  const double start = thread_cpu_seconds();
  problem.multiply(m, given);
  return thread_cpu_seconds() - start;
}

nlohmann::json measure(Isa isa, DType dtype, const Options& options) {
  Problem problem(isa, dtype, options);
  std::vector<Figure> figures(options.m.size());
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < options.m.size(); ++i) {
      Figure& figure = figures[i];
      const double peak = gemm::measure_peak(gemm::kernels(isa), dtype, 0.01).l1_fed;
      const double read = gemm::measure_read_bandwidth({.bytes = 128 << 20, .repeats = 2});
      const double seconds = seconds_of(problem, options.m[i], Given::kPacked);
      figure.seconds.push_back(seconds);
      figure.best_seconds = std::min(figure.best_seconds, seconds);
      figure.best_peak = std::max(figure.best_peak, peak);
      figure.best_read = std::max(figure.best_read, read);
      figure.compute_share.push_back(problem.flops(options.m[i]) / seconds / peak);
      figure.read_share.push_back(problem.weight_bytes() / seconds / read);
      figure.view_ratio.push_back(seconds_of(problem, options.m[i], Given::kView) / seconds);
      figure.transposed_ratio.push_back(seconds_of(problem, options.m[i], Given::kTransposedView) /
                                        seconds);
    }
  }
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t i = 0; i < options.m.size(); ++i) {
    const Figure& f = figures[i];
    const std::int64_t m = options.m[i];
    const double flops = problem.flops(m) / f.best_seconds;
    const double bytes = problem.weight_bytes() / f.best_seconds;
    std::printf(
        "%-13s %-5s %6lld %9.3f %9.3f %9.1f %8.1f%% %8.1f%% %9.1f %8.1f%% %8.1f%% %10.2f %10.2f\n",
        isa_name(isa).data(), dtype_name(dtype).data(), static_cast<long long>(m),
        1e3 * f.best_seconds, 1e3 * median(f.seconds), 1e-9 * flops, 100 * flops / f.best_peak,
        100 * median(f.compute_share), 1e-9 * bytes, 100 * bytes / f.best_read,
        100 * median(f.read_share), median(f.view_ratio), median(f.transposed_ratio));
    rows.push_back({{"isa", isa_name(isa)},
                    {"dtype", dtype_name(dtype)},
                    {"m", m},
                    {"k", options.k},
                    {"n", options.n},
                    {"decode", problem.decodes(m)},
                    {"best_seconds", f.best_seconds},
                    {"median_seconds", median(f.seconds)},
                    {"gflops", 1e-9 * flops},
                    {"share_of_l1_fed", flops / f.best_peak},
                    {"median_share_of_l1_fed", median(f.compute_share)},
                    {"weight_gigabytes_per_second", 1e-9 * bytes},
                    {"share_of_read_bandwidth", bytes / f.best_read},
                    {"median_share_of_read_bandwidth", median(f.read_share)},
                    {"view_over_packed", median(f.view_ratio)},
                    {"transposed_view_over_packed", median(f.transposed_ratio)}});
  }
  return rows;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Measures the product of one core");
  app.add_option("--isa", options.isas, "instruction sets (default: all of this machine)");
  app.add_option("--dtype", options.dtypes, "f32, bf16, f16");
  app.add_option("--m", options.m, "rows of x")->check(CLI::PositiveNumber);
  app.add_option("--k", options.k, "inner extent")->check(CLI::PositiveNumber);
  app.add_option("--n", options.n, "columns of y")->check(CLI::PositiveNumber);
  app.add_option("--cold-mib", options.cold_mib, "memory of the copies of y")
      ->check(CLI::PositiveNumber);
  app.add_option("--rounds", options.rounds, "runs per figure")->check(CLI::PositiveNumber);
  app.add_flag("--quick", options.quick, "the fastest instruction set, 3 runs per figure");
  app.add_option("--json", options.json, "file for the figures");
  CLI11_PARSE(app, argc, argv);
  if (options.quick) {
    options.rounds = 3;
    if (options.isas.empty()) options.isas = {std::string(isa_name(default_isa()))};
  }

  std::printf("k %lld, n %lld; shares: best of best, then median of the rounds' shares\n",
              static_cast<long long>(options.k), static_cast<long long>(options.n));
  std::printf("%-13s %-5s %6s %9s %9s %9s %9s %9s %9s %9s %9s %10s %10s\n", "isa", "type", "m",
              "best ms", "median", "GFLOP/s", "of L1-fed", "median", "GB/s", "of read", "median",
              "view [k,n]", "view [n,k]");
  nlohmann::json rows = nlohmann::json::array();
  for (Isa isa : chosen_isas(options.isas)) {
    if (isa == Isa::kPortable && options.isas.empty()) continue;  // minutes, and of no interest
    for (const std::string& name : options.dtypes) {
      for (const nlohmann::json& row : measure(isa, parse_dtype(name), options)) {
        rows.push_back(row);
      }
    }
  }
  write_json(options.json, {{"products", rows}});
  return 0;
}

}  // namespace
}  // namespace cmm::bench

int main(int argc, char** argv) {
  return cmm::bench::run_program("bench_gemm", cmm::bench::run, argc, argv);
}
