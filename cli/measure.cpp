#include "measure.hpp"

#include <algorithm>
#include <array>

#include "arguments.hpp"
#include "clock.hpp"
#include "spin_barrier.hpp"

namespace cmm::cli {
namespace {

enum Kind { kFused, kGemm, kGather, kBarrier, kGatherThenGemm, kInPlaceThenGemm, kNumKinds };

struct Interval {
  double begin = 0;
  double end = 0;
};
using Round = std::array<Interval, kNumKinds>;

// What one rank's thread needs for all kinds of calls.
class RankBench {
 public:
  RankBench(Mesh& mesh, ProblemData& data, int num_copies, SpinBarrier& barrier)
      : rank_(mesh.rank()),
        data_(data),
        barrier_(barrier),
        fused_(Plan::make(mesh.axis("tp"), shape_of(data.problem(), rank_),
                          options_of(data.problem()))),
        gather_(Plan::make(mesh.axis("tp"), shape_of(data.problem(), rank_),
                           direct_options(data.problem()))),
        alone_(Plan::make(Mesh::threads({{"one", 1}})[0].axis("one"), shape_alone(),
                          direct_options(data.problem()))) {
    data_.fill_x(rank_);
    for (int copy = 0; copy < num_copies; ++copy) weights_.push_back(data_.make_weights(rank_));
    out_ = data_.out(rank_);
    x_local_ = data_.x_local(rank_);
    gathered_ = Matrix(data.problem().dtype, data.problem().m, data.problem().k);
    data_.poison_out(rank_);
  }

  Round measure_round(int round) {
    const std::vector<Weights>& y = weights_[static_cast<std::size_t>(round) % weights_.size()];
    Round times;
    times[kFused] = timed([&] { fused(y); });
    times[kGemm] = timed([&] { multiply(data_.x(), y); });
    times[kGather] = timed([&] { all_gather(fused_, x_local_, gathered_.ref()); });
    times[kBarrier] = timed([&] { barrier_.wait(); });
    times[kGatherThenGemm] = timed([&] {
      all_gather(gather_, x_local_, gathered_.ref());
      multiply(gathered_.ref(), y);
    });
    times[kInPlaceThenGemm] = timed([&] {
      barrier_.wait();
      multiply(data_.x(), y);
      barrier_.wait();
    });
    return times;
  }

  void final_call() {
    data_.poison_out(rank_);
    barrier_.wait();
    fused(weights_[0]);
  }

  const Plan& plan() const { return fused_; }
  Engine engine() const { return weights_[0][0].engine(); }

 private:
  static Options direct_options(const Problem& problem) {
    Options options = options_of(problem);
    options.algorithm = Algorithm::kDirect;
    options.pieces = 0;
    options.hosts = 0;
    return options;
  }
  ProblemShape shape_alone() const {
    ProblemShape shape = shape_of(data_.problem(), rank_);
    shape.rows.clear();
    return shape;
  }

  template <class Call>
  Interval timed(const Call& call) {
    barrier_.wait();
    Interval interval;
    interval.begin = now_seconds();
    call();
    interval.end = now_seconds();
    return interval;
  }
  void fused(const std::vector<Weights>& y) { all_gather_matmul(fused_, x_local_, y, out_); }
  void multiply(const ConstMatrixRef& x, const std::vector<Weights>& y) {
    all_gather_matmul(alone_, x, y, out_);
  }

  int rank_;
  ProblemData& data_;
  SpinBarrier& barrier_;
  Plan fused_;
  Plan gather_;                                // direct: the fastest gather on one host
  Plan alone_;                                 // this rank's product as one rank's problem, x whole
  std::vector<std::vector<Weights>> weights_;  // [copy][right side]
  std::vector<MatrixRef> out_;
  ConstMatrixRef x_local_;
  Matrix gathered_;  // [m, k]
};

int choose_repeats(const MeasureOptions& options, double round_seconds) {
  if (options.repeats) return *options.repeats;
  constexpr double kSeconds = 2.0;
  return static_cast<int>(std::clamp(kSeconds / std::max(round_seconds, 1e-6), 5.0, 200.0));
}

// rounds[rank][round] to one duration per round.
std::vector<double> durations(const std::vector<std::vector<Round>>& rounds, Kind kind) {
  std::vector<double> result;
  for (std::size_t i = 0; i < rounds[0].size(); ++i) {
    Interval all = rounds[0][i][kind];
    for (const std::vector<Round>& of_rank : rounds) {
      all.begin = std::min(all.begin, of_rank[i][kind].begin);
      all.end = std::max(all.end, of_rank[i][kind].end);
    }
    result.push_back(all.end - all.begin);
  }
  return result;
}

}  // namespace

double Measurement::sequential_seconds() const {
  return std::min(gather_then_gemm.median, in_place_then_gemm.median);
}

double Measurement::bound_seconds() const {
  const double transfer = in_place ? 0.0 : gather.median;
  return std::max(gemm.median, transfer) + first_chunk_seconds + last_chunk_seconds;
}

double Measurement::hidden_share() const {
  return (gemm.median + gather.median - fused.median) / std::min(gemm.median, gather.median);
}

Measurement measure(ProblemData& data, const MeasureOptions& options) {
  const int num_ranks = data.problem().ranks;
  SpinBarrier barrier(num_ranks);
  std::vector<std::vector<Round>> rounds(static_cast<std::size_t>(num_ranks));
  Measurement result;
  int repeats = 0;  // written by rank 0 between two barriers

  run_ranks({{"tp", num_ranks}}, [&](Mesh& mesh) {
    const int rank = mesh.rank();
    try {
      RankBench bench(mesh, data, options.num_copies, barrier);
      barrier.wait();
      bench.measure_round(0);  // first touch of outputs, threads and caches
      barrier.wait();
      const double begin = now_seconds();
      bench.measure_round(1);
      barrier.wait();
      if (rank == 0) repeats = choose_repeats(options, now_seconds() - begin);
      barrier.wait();
      std::vector<Round>& mine = rounds[static_cast<std::size_t>(rank)];
      mine.reserve(static_cast<std::size_t>(repeats));
      for (int i = 0; i < repeats; ++i) {
        mine.push_back(bench.measure_round(i));
        if (rank == 0 && options.progress) options.progress(i + 1, repeats);
      }
      barrier.wait();
      bench.final_call();
      if (rank == 0) {
        result.plan = bench.plan().explain();
        result.engine = bench.engine();
      }
    } catch (...) {
      barrier.leave();
      throw;
    }
  });

  result.repeats = repeats;
  result.fused = spread_of(durations(rounds, kFused));
  result.gemm = spread_of(durations(rounds, kGemm));
  result.gather = spread_of(durations(rounds, kGather));
  result.barrier = spread_of(durations(rounds, kBarrier));
  result.gather_then_gemm = spread_of(durations(rounds, kGatherThenGemm));
  result.in_place_then_gemm = spread_of(durations(rounds, kInPlaceThenGemm));

  const int num_chunks = std::max(1, result.plan.num_chunks);
  result.in_place = result.plan.copied_bytes == 0;
  if (num_ranks > 1 && result.in_place) result.first_chunk_seconds = result.barrier.median;
  if (!result.in_place) {
    const double remote_chunks =
        std::max(1.0, num_chunks * (num_ranks - 1.0) / num_ranks);  // of one rank
    result.first_chunk_seconds = result.gather.median / remote_chunks;
    result.last_chunk_seconds = result.gemm.median / num_chunks;
  }
  return result;
}

void record_call(ProblemData& data, Trace& trace) {
  const Problem& problem = data.problem();
  SpinBarrier barrier(problem.ranks);
  run_ranks({{"tp", problem.ranks}}, [&](Mesh& mesh) {
    const int rank = mesh.rank();
    try {
      Options options = options_of(problem);
      options.trace = &trace;
      const Plan plan = Plan::make(mesh.axis("tp"), shape_of(problem, rank), options);
      const std::vector<Weights> y = data.make_weights(rank);
      const ConstMatrixRef x_local = data.x_local(rank);
      const std::vector<MatrixRef> out = data.out(rank);
      all_gather_matmul(plan, x_local, y, out);  // brings caches and page tables up to date
      barrier.wait();
      if (rank == 0) trace.clear();
      barrier.wait();
      all_gather_matmul(plan, x_local, y, out);
    } catch (...) {
      barrier.leave();
      throw;
    }
  });
}

std::int64_t measure_bytes(const Problem& p, const MeasureOptions& options) {
  const auto size = static_cast<std::int64_t>(dtype_bytes(p.dtype));
  const std::int64_t gathered =
      saturating_product(saturating_product(saturating_product(p.m, p.k), size), p.ranks);
  const std::int64_t copies =
      saturating_product(saturating_product(saturating_product(p.k, p.n), size),
                         saturating_product(p.num_weights, options.num_copies - std::int64_t{1}));
  return saturating_sum(gathered, copies);
}

}  // namespace cmm::cli
