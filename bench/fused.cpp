// Does the fused operation hide its gather? all_gather_matmul on P ranks against the bound and
// against the sequential versions of the same work on the same threads.
//
// All versions of a row take turns within each round. A duration is from the first rank's start to
// the last rank's end, so a rank that the system starts late counts for every version alike.
#include <CLI/CLI.hpp>
#include <array>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>

#include "base/clock.hpp"
#include "base/integers.hpp"
#include "cmm/cmm.hpp"
#include "cmm/machine.hpp"
#include "report.hpp"

namespace cmm::bench {
namespace {

constexpr std::int64_t kColdRows = 64;
constexpr double kSampleSeconds = 2e-3;

struct Options {
  std::vector<std::string> dtypes = {"f32", "bf16"};
  std::vector<int> ranks = {1, 2, 4, 8};
  std::vector<std::int64_t> m = {1, 4, 16, 64, 256, 1024, 4096};
  std::int64_t k = 4096;
  std::int64_t n = 14336;  // of all ranks together
  int cores = 2;
  std::int64_t cold_mib = 300;  // of all ranks together
  int rounds = 9;
  std::string algorithm = "auto";
  bool quick = false;
  std::string json;
};

enum Version {
  kFused,
  kProduct,             // every rank's product at the same time, all of x at hand
  kGather,              // all_gather of the same algorithm
  kBarrier,             // the ranks meet
  kGatherThenProduct,   // the direct all_gather, then the product of the copy
  kBarrierThenProduct,  // a barrier, the product of the peers' rows in place, a barrier
  // The last rank enters each call half a product late.
  kLateFused,
  kLateBarrierThenProduct,
  kNumVersions
};
constexpr const char* kNames[kNumVersions] = {"fused",
                                              "product",
                                              "all_gather",
                                              "barrier",
                                              "all_gather_then_product",
                                              "barrier_then_product",
                                              "late_fused",
                                              "late_barrier_then_product"};

struct Case {
  DType dtype = DType::kF32;
  int num_ranks = 1;
  int threads_per_rank = 1;
  std::int64_t m = 1, k = 1, n = 1;
  int num_copies = 1;
  Algorithm algorithm = Algorithm::kAuto;
  std::int64_t n_local(int rank) const { return even_part(n, num_ranks, rank).size(); }
};

struct Interval {
  double begin = 0;
  double end = 0;
};
using Sample = std::array<Interval, kNumVersions>;

// The whole x in memory that all ranks may read, as in a process they share.
struct SharedX {
  explicit SharedX(const Case& c)
      : data(c.m * c.k * static_cast<std::int64_t>(dtype_bytes(c.dtype))),
        whole(data.data(), c.dtype, c.m, c.k, c.k) {
    fill_random(data, c.dtype);
  }
  ConstMatrixRef rows(std::int64_t first, std::int64_t count) const {
    const std::int64_t at =
        first * whole.cols * static_cast<std::int64_t>(dtype_bytes(whole.dtype));
    return {data.data() + at, whole.dtype, count, whole.cols, whole.cols};
  }
  AlignedBuffer data;
  ConstMatrixRef whole;
};

// What one rank needs for every version.
class Rank {
 public:
  Rank(Mesh& mesh, const Case& c, const SharedX& x, std::barrier<>& barrier)
      : case_(c),
        x_(x),
        barrier_(barrier),
        is_last_(mesh.rank() == c.num_ranks - 1),
        n_local_(c.n_local(mesh.rank())),
        fused_(Plan::make(mesh.axis("tp"), shape(), options(c.algorithm))),
        direct_(Plan::make(mesh.axis("tp"), shape(), options(Algorithm::kDirect))),
        alone_(Plan::make(Mesh::threads({{"one", 1}})[0].axis("one"), shape(),
                          options(Algorithm::kDirect))),
        x_local_(x.rows(even_part(c.m, c.num_ranks, mesh.rank()).begin,
                        even_part(c.m, c.num_ranks, mesh.rank()).size())),
        gathered_(x.data.bytes()),
        out_(c.m * n_local_ * static_cast<std::int64_t>(dtype_bytes(c.dtype))) {
    AlignedBuffer y(c.k * n_local_ * static_cast<std::int64_t>(dtype_bytes(c.dtype)));
    fill_random(y, c.dtype);
    for (int copy = 0; copy < c.num_copies; ++copy) {
      weights_.push_back(
          Weights::pack(StridedMatrixRef(y.data(), c.dtype, c.k, n_local_, n_local_, 1)));
    }
  }

  // `calls` calls of each version.
  Sample sample(int calls, double late_seconds) {
    const auto fused = [&] { all_gather_matmul(fused_, x_local_, next_y(), out()); };
    const auto barrier_then_product = [&] {
      barrier_.arrive_and_wait();
      multiply(x_.whole);
      barrier_.arrive_and_wait();
    };
    const auto be_late = [&] {
      if (is_last_) std::this_thread::sleep_for(std::chrono::duration<double>(late_seconds));
    };
    Sample times;
    times[kFused] = timed(calls, fused);
    times[kProduct] = timed(calls, [&] { multiply(x_.whole); });
    times[kGather] = timed(calls, [&] { all_gather(fused_, x_local_, gathered()); });
    times[kBarrier] = timed(calls, [&] { barrier_.arrive_and_wait(); });
    times[kGatherThenProduct] = timed(calls, [&] {
      all_gather(direct_, x_local_, gathered());
      multiply(gathered());
    });
    times[kBarrierThenProduct] = timed(calls, barrier_then_product);
    times[kLateFused] = timed(calls, [&] {
      be_late();
      fused();
    });
    times[kLateBarrierThenProduct] = timed(calls, [&] {
      be_late();
      barrier_then_product();
    });
    return times;
  }

  Explanation explain() const { return fused_.explain(); }

 private:
  ProblemShape shape() const {
    return {.m = case_.m, .k = case_.k, .n_local = {n_local_}, .dtype = case_.dtype};
  }
  cmm::Options options(Algorithm algorithm) const {
    return {.algorithm = algorithm, .threads = case_.threads_per_rank};
  }
  template <class Call>
  Interval timed(int calls, const Call& call) {
    barrier_.arrive_and_wait();
    Interval interval;
    interval.begin = wall_seconds();
    for (int i = 0; i < calls; ++i) call();
    interval.end = wall_seconds();
    return interval;
  }
  const Weights& next_y() { return weights_[next_++ % weights_.size()]; }
  MatrixRef gathered() { return {gathered_.data(), case_.dtype, case_.m, case_.k, case_.k}; }
  MatrixRef out() { return {out_.data(), case_.dtype, case_.m, n_local_, n_local_}; }
  void multiply(const ConstMatrixRef& x) { all_gather_matmul(alone_, x, next_y(), out()); }

  const Case& case_;
  const SharedX& x_;
  std::barrier<>& barrier_;
  bool is_last_;
  std::int64_t n_local_;
  Plan fused_;
  Plan direct_;
  Plan alone_;
  ConstMatrixRef x_local_;
  AlignedBuffer gathered_;
  AlignedBuffer out_;
  std::vector<Weights> weights_;
  std::size_t next_ = 0;
};

struct Result {
  std::array<std::vector<double>, kNumVersions> seconds;  // of one call, by round
  Explanation plan;
};

// Seconds of one call, from the first rank's start to the last rank's end.
std::array<double, kNumVersions> durations(const std::vector<Sample>& of_ranks, int calls) {
  std::array<double, kNumVersions> seconds = {};
  for (std::size_t version = 0; version < kNumVersions; ++version) {
    Interval all = of_ranks[0][version];
    for (const Sample& sample : of_ranks) {
      all.begin = std::min(all.begin, sample[version].begin);
      all.end = std::max(all.end, sample[version].end);
    }
    seconds[version] = (all.end - all.begin) / calls;
  }
  return seconds;
}

Result measure(const Case& c, int rounds) {
  const SharedX x(c);
  std::barrier<> barrier(c.num_ranks);
  std::vector<Sample> samples(static_cast<std::size_t>(c.num_ranks));
  // Written by rank 0 between barriers, as is the result.
  int calls = 1;
  double late_seconds = 0;
  Result result;
  run_ranks({{"tp", c.num_ranks}}, [&](Mesh& mesh) {
    const auto r = static_cast<std::size_t>(mesh.rank());
    try {
      Rank rank(mesh, c, x, barrier);
      rank.sample(1, 0);  // first touch of outputs, threads and caches
      for (int round = -1; round < rounds; ++round) {
        samples[r] = rank.sample(calls, late_seconds);
        barrier.arrive_and_wait();
        if (r == 0) {
          const auto seconds = durations(samples, calls);
          for (std::size_t v = 0; v < kNumVersions && round >= 0; ++v) {
            result.seconds[v].push_back(seconds[v]);
          }
          if (round < 0) {
            calls = static_cast<int>(std::ceil(kSampleSeconds / seconds[kFused]));
            late_seconds = 0.5 * seconds[kProduct];
          }
        }
        barrier.arrive_and_wait();
      }
      if (r == 0) result.plan = rank.explain();
    } catch (...) {
      barrier.arrive_and_drop();
      throw;
    }
  });
  return result;
}

double median_ratio(const std::vector<double>& over, const std::vector<double>& under) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < over.size(); ++i) ratios.push_back(over[i] / under[i]);
  return median(ratios);
}

// The bound of a round: max(product, transfer) + first chunk + last chunk. Rows that are read in
// place are not transferred: then it is the product and the barrier after which all of x may be
// read. Else transfer is the gather; the first chunk is its share of one chunk of a peer, the last
// chunk the product's share of one chunk.
std::vector<double> bounds(const Case& c, const Result& result) {
  const bool in_place = result.plan.copied_bytes == 0;
  const double chunks = std::max(1, result.plan.num_chunks);
  const double remote_chunks = std::max(1.0, chunks * (c.num_ranks - 1) / c.num_ranks);
  std::vector<double> all;
  for (std::size_t i = 0; i < result.seconds[kFused].size(); ++i) {
    const double product = result.seconds[kProduct][i];
    const double gather = result.seconds[kGather][i];
    const double barrier = result.seconds[kBarrier][i];
    if (c.num_ranks == 1) {
      all.push_back(product);
    } else if (in_place) {
      all.push_back(product + barrier);
    } else {
      all.push_back(std::max(product, gather) + gather / remote_chunks + product / chunks);
    }
  }
  return all;
}

void print_head(const Case& c, const Machine& machine) {
  std::printf(
      "\n%s, P = %d, %d thread%s a rank, y [%lld, %lld / P]; L1-fed loop %.0f GFLOP/s a "
      "core, reading %.1f GB/s\n",
      dtype_name(c.dtype).data(), c.num_ranks, c.threads_per_rank,
      c.threads_per_rank == 1 ? "" : "s", static_cast<long long>(c.k), static_cast<long long>(c.n),
      1e-9 * machine.l1_flops, 1e-9 * machine.read_bytes_per_second);
  std::printf("%6s %10s %17s %10s %8s %9s %9s %7s %7s %8s %8s\n", "m", "fused ms", "quartiles",
              "bound ms", "T/bound", "speed-up", "in place", "late", "hidden", "of peak",
              "of read");
}

nlohmann::json report(const Case& c, const Result& result, const Machine& machine) {
  const std::vector<double> bound = bounds(c, result);
  const Spread fused = spread(result.seconds[kFused]);
  const double product = median(result.seconds[kProduct]);
  const double gather = median(result.seconds[kGather]);
  const double hidden = (product + gather - fused.median) / std::min(product, gather);
  const double over_bound = median_ratio(result.seconds[kFused], bound);
  const double over_gather =
      median_ratio(result.seconds[kGatherThenProduct], result.seconds[kFused]);
  const double over_in_place =
      median_ratio(result.seconds[kBarrierThenProduct], result.seconds[kFused]);
  const double over_late =
      median_ratio(result.seconds[kLateBarrierThenProduct], result.seconds[kLateFused]);
  const double flops =
      2.0 * static_cast<double>(c.m) * static_cast<double>(c.k) * static_cast<double>(c.n);
  const double bytes = static_cast<double>(c.k) * static_cast<double>(c.n) *
                       static_cast<double>(dtype_bytes(c.dtype));
  const int cores = std::min(c.num_ranks * c.threads_per_rank, machine.num_cores);
  const double share_of_peak = flops / fused.median / (machine.l1_flops * cores);
  const double share_of_read =
      bytes / fused.median /
      (cores == 1 ? machine.core_read_bytes_per_second : machine.read_bytes_per_second);
  std::printf("%6lld %10.3f %8.3f-%-8.3f %10.3f %8.3f %9.3f %9.3f", static_cast<long long>(c.m),
              1e3 * fused.median, 1e3 * fused.low_quartile, 1e3 * fused.high_quartile,
              1e3 * median(bound), over_bound, over_gather, over_in_place);
  if (c.num_ranks > 1) {
    std::printf(" %7.3f %7.2f", over_late, hidden);
  } else {
    std::printf(" %7s %7s", "-", "-");  // one rank neither gathers nor waits
  }
  std::printf(" %7.0f%% %7.0f%%\n", 100 * share_of_peak, 100 * share_of_read);
  std::fflush(stdout);

  nlohmann::json row = {
      {"dtype", dtype_name(c.dtype)},
      {"num_ranks", c.num_ranks},
      {"threads_per_rank", c.threads_per_rank},
      {"more_ranks_than_cores", c.num_ranks * c.threads_per_rank > machine.num_cores},
      {"m", c.m},
      {"k", c.k},
      {"n", c.n},
      {"cold_weights", c.m <= kColdRows},
      {"algorithm", algorithm_name(result.plan.algorithm)},
      {"isa", isa_name(result.plan.isa)},
      {"bound_seconds", median(bound)},
      {"ratio_to_bound", over_bound},
      {"speedup_over_gather_then_product", over_gather},
      {"speedup_over_barrier_then_product", over_in_place},
      {"share_of_l1_fed", share_of_peak},
      {"share_of_read", share_of_read}};
  if (c.num_ranks > 1) {
    row["hidden_share"] = hidden;
    row["late_speedup_over_barrier_then_product"] = over_late;
  }
  for (std::size_t v = 0; v < kNumVersions; ++v) {
    row["seconds"][kNames[v]] = to_json(spread(result.seconds[v]));
  }
  return row;
}

nlohmann::json run_all(const Options& options) {
  nlohmann::json rows = nlohmann::json::array();
  for (const std::string& dtype : options.dtypes) {
    for (const int num_ranks : options.ranks) {
      Case c;
      c.dtype = parse_dtype(dtype);
      c.num_ranks = num_ranks;
      c.threads_per_rank = std::max(1, options.cores / num_ranks);
      c.k = options.k;
      c.n = options.n;
      c.algorithm = parse_algorithm(options.algorithm);
      const Machine machine = measure_machine(default_isa(), c.dtype);
      print_head(c, machine);
      const std::int64_t weight_bytes = c.k * c.n * static_cast<std::int64_t>(dtype_bytes(c.dtype));
      for (const std::int64_t m : options.m) {
        c.m = m;
        c.num_copies = m <= kColdRows
                           ? static_cast<int>(ceil_div(options.cold_mib << 20, weight_bytes) + 1)
                           : 1;
        rows.push_back(report(c, measure(c, options.rounds), machine));
      }
    }
  }
  return rows;
}

int run(int argc, char** argv) {
  Options options;
  options.cores = static_cast<int>(std::thread::hardware_concurrency());
  CLI::App app("Measures the fused operation against its bound and the sequential versions");
  CLI::Option* m = app.add_option("--m", options.m, "rows of x")->check(CLI::PositiveNumber);
  app.add_option("--k", options.k, "inner extent")->check(CLI::PositiveNumber);
  CLI::Option* n =
      app.add_option("--n", options.n, "columns of y, all ranks")->check(CLI::PositiveNumber);
  app.add_option("--ranks", options.ranks, "numbers of ranks")->check(CLI::PositiveNumber);
  app.add_option("--cores", options.cores, "threads of all ranks together, one a rank at least")
      ->check(CLI::PositiveNumber);
  app.add_option("--dtype", options.dtypes, "f32, bf16, f16");
  app.add_option("--algorithm", options.algorithm, "auto, direct, ring, ...");
  app.add_option("--cold-mib", options.cold_mib, "memory of the copies of y")
      ->check(CLI::PositiveNumber);
  CLI::Option* rounds =
      app.add_option("--rounds", options.rounds, "samples per figure")->check(CLI::PositiveNumber);
  app.add_flag("--quick", options.quick, "smaller y, fewer rows and rounds: a minute or two");
  app.add_option("--json", options.json, "file for the figures");
  CLI11_PARSE(app, argc, argv);
  if (options.quick) {
    if (m->count() == 0) options.m = {1, 16, 256, 1024};
    if (n->count() == 0) options.n = 8192;
    if (rounds->count() == 0) options.rounds = 7;
  }
  std::printf(
      "speed-up: over the direct all_gather, then the product; in place: over a barrier, "
      "then the product of the peers' rows; late: the same with the last rank half a product "
      "late\n");
  write_json(options.json, {{"fused", run_all(options)}});
  return 0;
}

}  // namespace
}  // namespace cmm::bench

int main(int argc, char** argv) {
  return cmm::bench::run_program("bench_fused", cmm::bench::run, argc, argv);
}
