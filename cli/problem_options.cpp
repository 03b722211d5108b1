#include "problem_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "add_option.hpp"
#include "arguments.hpp"
#include "cmm/error.hpp"
#include "problem.hpp"
#include "table.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

constexpr int kMaxAllThreads = 16'384;
constexpr int kMaxThreads = 1024;  // per rank
constexpr int kMaxPieces = 1024;   // per shard
constexpr int kMaxWeights = 64;
constexpr DecimalRange kLinkGbit = {.min = 0.001, .max = 1e6};
constexpr DecimalRange kLinkMicroseconds = {.min = 0, .max = 1e6};
constexpr std::int64_t kMaxDeadlineMs = 86'400'000;  // a day

void check_isa(Isa isa) {
  if (isa_supported(isa)) return;
  std::string known;
  for (Isa other : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16}) {
    if (isa_supported(other)) known += (known.empty() ? "" : ", ") + std::string(isa_name(other));
  }
  throw Error(ErrorCode::kUnsupported,
              text("--isa ", isa_name(isa), " cannot run on this machine; it can run ", known));
}

// The number of ranks that were started, where --ranks or --rows must name it.
void check_started(const World& world, int num_ranks, const char* option) {
  const std::optional<int> started = world.num_started();
  if (!started || *started == num_ranks) return;
  throw Error(
      ErrorCode::kInvalidArgument,
      text(option, num_ranks, " but ", world.started_by(), " started ", *started,
           *started == 1 ? " rank" : " ranks", "; give that number, or leave the flag out"));
}

std::chrono::milliseconds parse_deadline(std::string_view word) {
  return std::chrono::milliseconds(parse_int("--deadline-ms", word, {1, kMaxDeadlineMs}));
}

}  // namespace

std::chrono::milliseconds given_deadline(const std::vector<std::string>& words) {
  constexpr std::string_view kName = "--deadline-ms";
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word.substr(0, kName.size()) != kName) continue;
    const std::string_view rest = word.substr(kName.size());
    try {
      if (rest.substr(0, 1) == "=") return parse_deadline(rest.substr(1));
      if (rest.empty() && i + 1 < words.size()) return parse_deadline(words[i + 1]);
    } catch (const Error&) {
      break;
    }
  }
  return Problem().deadline;
}

void ProblemOptions::add_plan_to(CLI::App& app) {
  Problem& p = problem_;
  add_int(app, "--ranks", ranks_, {1, kMaxRanks},
          "ranks: threads of this process (default: 2), or those that were started");
  add_int(app, "--threads", threads_, {1, kMaxThreads},
          "threads of each rank (default: cores / ranks, at least 1)");
  add_name(app, "--algorithm", p.algorithm, parse_algorithm,
           "auto, direct, ring, bidirectional, recursive_doubling, hierarchical (default: auto)",
           "NAME");
  add_int(app, "--hosts", p.hosts, {1, kMaxRanks},
          "hosts the ranks are spread over, for hierarchical (default: 1)");
  add_value(
      app, "--link-gbit",
      [&p](const std::string& word) {
        p.network.bytes_per_second = parse_decimal("--link-gbit", word, kLinkGbit) * 1e9 / 8;
      },
      "10^9 bits per second of a host's link, each way, for auto (default: 9.36)", "X");
  add_value(
      app, "--link-us",
      [&p](const std::string& word) {
        p.network.latency_seconds = parse_decimal("--link-us", word, kLinkMicroseconds) * 1e-6;
      },
      "latency of a message between hosts, for auto (default: 40)", "US");
  add_int(app, "--pieces", p.pieces, {1, kMaxPieces},
          "chunks per shard (default: the plan decides)");
  add_name(app, "--isa", p.isa, parse_isa,
           "portable, avx2, avx512, avx512_bf16 (default: the fastest that runs here)", "NAME");
}

void ProblemOptions::add_execution_to(CLI::App& app) {
  add_plan_to(app);
  Problem& p = problem_;
  add_name(app, "--out-dtype", p.out_dtype, parse_dtype,
           "element type of the output (default: that of x)", "TYPE");
  app.add_flag("--transpose-y", p.transpose_y, "y is stored as [n, k], as PyTorch does")
      ->disable_flag_override();
  add_name(app, "--engine", p.engine, parse_engine,
           "who multiplies: auto, own, onednn (default: auto)", "NAME");
  add_value(
      app, "--deadline-ms", [&p](const std::string& word) { p.deadline = parse_deadline(word); },
      "longest time of one call (default: 60000)", "MS");
}

void ProblemOptions::add_shape_to(CLI::App& app) {
  Problem& p = problem_;
  p.m = 512;
  p.k = 4096;
  p.n = 4096;
  add_int(app, "--m", m_, {}, "rows of x over all ranks (default: 512)");
  add_int(app, "--k", p.k, {}, "columns of x, rows of y (default: 4096)");
  add_int(app, "--n", p.n, {}, "columns of y over all ranks (default: 4096)");
  add_value(
      app, "--rows", [&p](const std::string& word) { p.rows = parse_rows("--rows", word); },
      "rows of x on each rank, as in 3,0,5 (default: split evenly)", "A,B,...");
  add_name(app, "--dtype", p.dtype, parse_dtype,
           "element type of x and y: f32, bf16, f16 (default: bf16)", "TYPE");
  add_int(app, "--weights", p.num_weights, {1, kMaxWeights},
          "right sides multiplied per gather, each [k, n] (default: 1)");
}

void ProblemOptions::add_data_to(CLI::App& app) {
  add_shape_to(app);
  add_seed(app, problem_.seed, "of the made-up x and y");
}

Problem ProblemOptions::problem(const World& world) const {
  Problem p = problem_;
  const std::int64_t num_rows = static_cast<std::int64_t>(p.rows.size());
  if (p.rows.empty()) {
    p.m = m_.value_or(p.m);
    return completed(world, std::move(p));
  }
  const std::int64_t sum = std::accumulate(p.rows.begin(), p.rows.end(), std::int64_t{0});
  if (ranks_ && *ranks_ != num_rows) {
    throw Error(ErrorCode::kInvalidArgument,
                text("--rows ", joined(p.rows, ","), " has ", num_rows, " entries but --ranks is ",
                     *ranks_, "; give ", *ranks_, " entries, or --ranks ", num_rows));
  }
  if (m_ && *m_ != sum) {
    throw Error(ErrorCode::kInvalidArgument,
                text("--rows ", joined(p.rows, ","), " sums to ", sum, " but --m is ", *m_,
                     "; give rows that sum to ", *m_, ", or leave --m out"));
  }
  p.ranks = static_cast<int>(num_rows);
  p.m = sum;
  return completed(world, std::move(p));
}

Problem ProblemOptions::problem_of(const World& world, std::int64_t m, std::int64_t k,
                                   std::int64_t n, DType dtype) const {
  Problem p = problem_;
  p.m = m;
  p.k = k;
  p.n = n;
  p.dtype = dtype;
  return completed(world, std::move(p));
}

Problem ProblemOptions::completed(const World& world, Problem p) const {
  if (ranks_) check_started(world, *ranks_, "--ranks is ");
  if (!p.rows.empty()) {
    check_started(world, p.ranks, "the number of entries of --rows is ");
  } else {
    p.ranks = ranks_.value_or(world.num_started().value_or(p.ranks));
  }
  p.threads = threads_.value_or(world.default_threads(p.ranks));
  if (std::int64_t{p.ranks} * p.threads > kMaxAllThreads) {
    throw Error(ErrorCode::kInvalidArgument,
                text("--ranks ", p.ranks, " of --threads ", p.threads, " are ",
                     std::int64_t{p.ranks} * p.threads, " threads; give at most ", kMaxAllThreads,
                     " over all ranks"));
  }
  if (p.hosts > p.ranks) {
    throw Error(ErrorCode::kInvalidArgument, text("--hosts is ", p.hosts, " but --ranks is ",
                                                  p.ranks, "; give at most one host per rank"));
  }
  if (p.isa) check_isa(*p.isa);
  check_sizes(p);
  return p;
}

}  // namespace cmm::cli
