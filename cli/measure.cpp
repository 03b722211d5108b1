#include "measure.hpp"

#include <algorithm>
#include <array>

#include "arguments.hpp"
#include "clock.hpp"
#include "combine.hpp"

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
  RankBench(Rank& at, ProblemData& data, int num_copies)
      : at_(at),
        rank_(at.rank()),
        data_(data),
        fused_(make_plan(at.axis(), shape_of(data.problem(), rank_), options_of(data.problem()))),
        gather_(
            make_plan(at.axis(), shape_of(data.problem(), rank_), direct_options(data.problem()))),
        alone_(Plan::make(Mesh::threads({{"one", 1}})[0].axis("one"), shape_alone(),
                          direct_options(data.problem()))) {
    data_.fill_x(rank_);
    for (int copy = 0; copy < num_copies; ++copy) weights_.push_back(data_.make_weights(rank_));
    out_ = data_.out(rank_);
    x_local_ = data_.x_local(rank_);
    gathered_ = Matrix(data.problem().dtype, data.problem().m, data.problem().k);
    data_.poison_out(rank_);
    at.get_ready();
    all_gather(gather_, x_local_, gathered_.ref());
    whole_x_ = data_.holds_whole_x() ? data_.x() : gathered_.ref();
  }

  Round measure_round(int round) {
    const std::vector<Weights>& y = weights_[static_cast<std::size_t>(round) % weights_.size()];
    Round times;
    times[kFused] = timed([&] { fused(y); });
    times[kGemm] = timed([&] { multiply(whole_x_, y); });
    times[kGather] = timed([&] { all_gather(fused_, x_local_, gathered_.ref()); });
    times[kBarrier] = timed([&] { at_.meet(); });
    times[kGatherThenGemm] = timed([&] {
      all_gather(gather_, x_local_, gathered_.ref());
      multiply(gathered_.ref(), y);
    });
    if (data_.holds_whole_x()) {
      times[kInPlaceThenGemm] = timed([&] {
        at_.meet();
        multiply(data_.x(), y);
        at_.meet();
      });
    }
    return times;
  }

  void final_call() {
    data_.poison_out(rank_);
    at_.meet();
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
    at_.meet();
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

  Rank& at_;
  int rank_;
  ProblemData& data_;
  Plan fused_;
  Plan gather_;                                // direct: the fastest gather on one host
  Plan alone_;                                 // this rank's product as one rank's problem, x whole
  std::vector<std::vector<Weights>> weights_;  // [copy][right side]
  std::vector<MatrixRef> out_;
  ConstMatrixRef x_local_;
  Matrix gathered_;         // [m, k]
  ConstMatrixRef whole_x_;  // [m, k], for the product alone
};

int choose_repeats(const MeasureOptions& options, double round_seconds) {
  if (options.repeats) return *options.repeats;
  constexpr double kSeconds = 2.0;
  return static_cast<int>(std::clamp(kSeconds / std::max(round_seconds, 1e-6), 5.0, 200.0));
}

using Rounds = std::vector<std::vector<Round>>;  // [rank][round]

// One duration per round.
std::vector<double> durations(const Rounds& rounds, Kind kind, bool have_one_clock) {
  std::vector<double> result;
  for (std::size_t i = 0; i < rounds[0].size(); ++i) {
    Interval all = rounds[0][i][kind];
    double longest = 0;
    for (const std::vector<Round>& of_rank : rounds) {
      const Interval& one = of_rank[i][kind];
      longest = std::max(longest, one.end - one.begin);
      all.begin = std::min(all.begin, one.begin);
      all.end = std::max(all.end, one.end);
    }
    result.push_back(have_one_clock ? all.end - all.begin : longest);
  }
  return result;
}

// This process's rounds to those of all ranks.
Rounds of_all_ranks(World& world, const Rounds& mine, std::size_t num_ranks) {
  std::vector<Round> flat;
  for (const std::vector<Round>& of_rank : mine) {
    flat.insert(flat.end(), of_rank.begin(), of_rank.end());
  }
  const std::vector<Round> all = joined_values(world, flat);
  Rounds rounds;
  const std::size_t num_rounds = all.size() / num_ranks;
  for (std::size_t at = 0; at < all.size(); at += num_rounds) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
    rounds.emplace_back(first, first + static_cast<std::ptrdiff_t>(num_rounds));
  }
  return rounds;
}

}  // namespace

double Measurement::sequential_seconds() const {
  const double gathered = gather_then_gemm.median;
  return in_place_then_gemm ? std::min(gathered, in_place_then_gemm->median) : gathered;
}

double Measurement::bound_seconds() const {
  const double transfer = in_place ? 0.0 : gather.median;
  return std::max(gemm.median, transfer) + first_chunk_seconds + last_chunk_seconds;
}

double Measurement::hidden_share() const {
  return (gemm.median + gather.median - fused.median) / std::min(gemm.median, gather.median);
}

Measurement measure(World& world, ProblemData& data, const MeasureOptions& options) {
  const Problem& problem = data.problem();
  const RankRange here = world.ranks_here(problem.ranks);
  Rounds mine(static_cast<std::size_t>(here.count));
  Measurement result;

  world.run(problem.ranks, problem.deadline, [&](Rank& at) {
    RankBench bench(at, data, options.num_copies);
    at.meet();
    bench.measure_round(0);  // first touch of outputs, threads and caches
    at.meet();
    const double begin = now_seconds();
    bench.measure_round(1);
    at.meet();
    const auto repeats =
        static_cast<int>(at.value_of_rank_0(choose_repeats(options, now_seconds() - begin)));
    std::vector<Round>& rounds = mine[static_cast<std::size_t>(at.rank() - here.first)];
    rounds.reserve(static_cast<std::size_t>(repeats));
    for (int i = 0; i < repeats; ++i) {
      rounds.push_back(bench.measure_round(i));
      if (at.rank() == 0 && options.progress) options.progress(i + 1, repeats);
    }
    at.meet();
    bench.final_call();
    if (at.rank() != here.first) return;
    result.plan = bench.plan().explain();
    result.engine = bench.engine();
  });

  const Rounds rounds = of_all_ranks(world, mine, static_cast<std::size_t>(problem.ranks));
  const auto spread = [&](Kind kind) {
    return spread_of(durations(rounds, kind, world.cores().num_machines == 1));
  };
  result.repeats = static_cast<int>(rounds[0].size());
  result.fused = spread(kFused);
  result.gemm = spread(kGemm);
  result.gather = spread(kGather);
  result.barrier = spread(kBarrier);
  result.gather_then_gemm = spread(kGatherThenGemm);
  if (data.holds_whole_x()) result.in_place_then_gemm = spread(kInPlaceThenGemm);

  const int num_chunks = std::max(1, result.plan.num_chunks);
  result.in_place = result.plan.copied_bytes == 0;
  if (problem.ranks > 1 && result.in_place) result.first_chunk_seconds = result.barrier.median;
  if (!result.in_place) {
    const double remote_chunks =
        std::max(1.0, num_chunks * (problem.ranks - 1.0) / problem.ranks);  // of one rank
    result.first_chunk_seconds = result.gather.median / remote_chunks;
    result.last_chunk_seconds = result.gemm.median / num_chunks;
  }
  return result;
}

Recording record_call(World& world, ProblemData& data, std::int64_t capacity) {
  const Problem& problem = data.problem();
  const int first_here = world.ranks_here(problem.ranks).first;
  Trace trace(capacity);
  std::int64_t met_ns = 0;  // by this machine's clock, when all ranks had met
  world.run(problem.ranks, problem.deadline, [&](Rank& at) {
    const int rank = at.rank();
    Options options = options_of(problem);
    options.trace = &trace;
    const Plan plan = make_plan(at.axis(), shape_of(problem, rank), options);
    const std::vector<Weights> y = data.make_weights(rank);
    const ConstMatrixRef x_local = data.x_local(rank);
    const std::vector<MatrixRef> out = data.out(rank);
    at.get_ready();
    all_gather_matmul(plan, x_local, y, out);  // brings caches and page tables up to date
    at.meet();
    if (rank == first_here) trace.clear();
    at.meet();
    if (rank == first_here) met_ns = static_cast<std::int64_t>(now_seconds() * 1e9);
    all_gather_matmul(plan, x_local, y, out);
  });

  struct Head {
    std::int64_t machine;
    std::int64_t met_ns;
    std::int64_t num_spans;
    std::int64_t num_dropped;
  };
  std::vector<Span> spans = trace.spans();
  const std::vector<Head> heads = joined_values(
      world, std::vector<Head>{{world.cores().machine, met_ns,
                                static_cast<std::int64_t>(spans.size()), trace.num_dropped()}});
  Recording recording;
  recording.spans = joined_values(world, spans);
  std::size_t at = 0;
  for (const Head& head : heads) {
    recording.num_dropped += head.num_dropped;
    const std::int64_t shift = head.machine == world.cores().machine ? 0 : met_ns - head.met_ns;
    for (std::int64_t i = 0; i < head.num_spans; ++i, ++at) {
      recording.spans[at].begin_ns += shift;
      recording.spans[at].end_ns += shift;
    }
  }
  return recording;
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
