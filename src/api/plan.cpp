#include "cmm/plan.hpp"

#include <algorithm>

#include "api/plan_state.hpp"
#include "base/integers.hpp"
#include "base/text.hpp"
#include "gemm/library/library.hpp"
#include "schedule/picture.hpp"

namespace cmm {
namespace api {
namespace {

// Chunks of this size hide their latency and still overlap (256 KiB to 1 MiB were measured alike).
constexpr std::int64_t kChunkBytes = std::int64_t{512} << 10;
constexpr int kMaxPieces = 16;

schedule::Algorithm to_schedule(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRing:
      return schedule::Algorithm::kRing;
    case Algorithm::kBidirectional:
      return schedule::Algorithm::kBidirectional;
    case Algorithm::kRecursiveDoubling:
      return schedule::Algorithm::kRecursiveDoubling;
    case Algorithm::kHierarchical:
      return schedule::Algorithm::kHierarchical;
    case Algorithm::kAuto:
    case Algorithm::kDirect:
      break;
  }
  return schedule::Algorithm::kDirect;
}

std::int64_t largest_shard(const ProblemShape& shape, int num_ranks) {
  if (shape.rows.empty()) return ceil_div(shape.m, num_ranks);
  return *std::max_element(shape.rows.begin(), shape.rows.end());
}

Isa choose_isa(const ProblemShape& shape, const Options& options) {
  const Isa isa = options.isa.value_or(default_isa());
  if (!isa_supported(isa)) {
    throw Error(ErrorCode::kUnsupported,
                cat("this processor or build has no instruction set ", isa_name(isa)));
  }
  const bool native = isa == Isa::kAvx512Bf16 && shape.dtype == DType::kBF16;
  return native && !options.native_bf16 ? Isa::kAvx512 : isa;
}

}  // namespace

Choice choose(const ProblemShape& shape, const Options& options, const std::vector<int>& hosts) {
  const auto num_ranks = static_cast<int>(hosts.size());
  Choice choice;
  choice.schedule = {.algorithm = to_schedule(options.algorithm),
                     .num_ranks = num_ranks,
                     .num_pieces = std::max(options.pieces, 1),
                     .num_hosts = std::max(options.hosts, 1)};
  if (options.algorithm == Algorithm::kAuto) {
    choice.reason = num_ranks == 1
                        ? "one rank holds all of x"
                        : "all ranks share this process's memory: each reads its peers' rows where "
                          "they lie, and any algorithm that copies would only add the copy";
  } else {
    choice.reason = "named by the caller";
  }
  const bool one_host = *std::max_element(hosts.begin(), hosts.end()) == 0;
  const bool in_place = one_host && choice.schedule.algorithm == schedule::Algorithm::kDirect;
  if (!in_place && options.pieces == 0) {
    const std::int64_t shard_bytes = largest_shard(shape, num_ranks) * shape.k *
                                     static_cast<std::int64_t>(dtype_bytes(shape.dtype));
    choice.schedule.num_pieces =
        static_cast<int>(std::clamp<std::int64_t>(shard_bytes / kChunkBytes, 1, kMaxPieces));
  }
  return choice;
}

Claim::Claim(const Axis& axis, const transport::History::Operation& operation)
    : endpoint_(axis.endpoint()) {
  if (endpoint_.try_claim()) {
    endpoint_.history().begin(operation);
    return;
  }
  throw Error(ErrorCode::kBusy,
              cat("rank ", axis.rank(), " of axis '", axis.name(),
                  "' is in a call already; one call at a time on an axis"),
              axis.rank());
}

PlanState::PlanState(const Axis& axis, const ProblemShape& shape, const Options& options)
    : axis_(axis), shape_(shape), options_(options), partition_(schedule::Partition::even(0, {})) {
  const Deadline deadline(std::max(options.deadline, std::chrono::milliseconds(1)));
  const Claim claim(axis, {.kind = transport::History::Kind::kPlan, .m = shape.m});
  transport::Endpoint& endpoint = axis.endpoint();
  endpoint.check_usable();
  const int num_ranks = axis.num_ranks();
  std::string mine;
  try {
    check_shape(shape, options, num_ranks);
    isa_ = choose_isa(shape, options);
    if (gemm::LibraryMatrix::preferred(shape.dtype)) engine_ = Engine::kOneDnn;
  } catch (const Error& error) {
    mine = error.what();
  }
  agree(axis, shape, options, mine, deadline);

  // All ranks have agreed. From here on only this rank's memory or threads can fail it, and its
  // peers must hear of that, so they exchange once more whether all have succeeded.
  choice_ = choose(shape, options, endpoint.hosts());
  partition_ = shape.rows.empty() ? schedule::Partition::even(shape.m, choice_.schedule)
                                  : schedule::Partition::uneven(shape.rows, choice_.schedule);
  try {
    executor_ = std::make_unique<exec::Executor>(exec::Executor::Config{
        .gather = {.shape = choice_.schedule,
                   .endpoint = &endpoint,
                   .max_chunk_rows = partition_.largest_chunk(),
                   .row_bytes = shape.k * static_cast<std::int64_t>(dtype_bytes(shape.dtype)),
                   .trace = options.trace},
        .kernels = &gemm::kernels(isa_),
        .dtype = shape.dtype,
        .max_m = shape.m,
        .k = shape.k,
        .n_local = shape.n_local,
        .num_threads = options.threads,
        .deadline = options.deadline,
        .trace = options.trace});
    sides_.reserve(shape.n_local.size());
  } catch (const Error& error) {
    mine = error.what();
  } catch (const std::exception& error) {
    mine = cat("no memory for the plan: ", error.what());
  }
  for (int rank = 0; const std::string& text : endpoint.exchange(mine, deadline)) {
    if (!text.empty()) {
      throw Error(ErrorCode::kOutOfMemory,
                  cat("rank ", rank, " of axis '", axis.name(), "' cannot make the plan: ", text),
                  rank);
    }
    ++rank;
  }
  executor_->gather().attach(endpoint.open_channel(executor_->gather().channel_shape(), deadline));
  number_ = endpoint.count_plan();
  endpoint.history().planned(number_);
}

std::int64_t PlanState::rows_of(int rank, std::int64_t m) const {
  if (!shape_.rows.empty()) return shape_.rows[static_cast<std::size_t>(rank)];
  return even_part(m, axis_.num_ranks(), rank).size();
}

}  // namespace api

std::string_view algorithm_name(Algorithm algorithm) {
  return algorithm == Algorithm::kAuto ? "auto"
                                       : schedule::algorithm_name(api::to_schedule(algorithm));
}

Algorithm parse_algorithm(std::string_view name) {
  std::string known;
  for (const Algorithm algorithm :
       {Algorithm::kAuto, Algorithm::kDirect, Algorithm::kRing, Algorithm::kBidirectional,
        Algorithm::kRecursiveDoubling, Algorithm::kHierarchical}) {
    if (algorithm_name(algorithm) == name) return algorithm;
    known += cat(known.empty() ? "" : ", ", algorithm_name(algorithm));
  }
  throw Error(ErrorCode::kInvalidArgument,
              cat("unknown algorithm '", name, "'; known are ", known));
}

Plan Plan::make(const Axis& axis, const ProblemShape& shape, const Options& options) {
  return Plan(std::make_shared<api::PlanState>(axis, shape, options));
}

api::PlanState& Plan::state() const {
  if (state_ != nullptr) return *state_;
  throw Error(ErrorCode::kInvalidArgument, "this plan was moved from; use the one it was moved to");
}

const ProblemShape& Plan::shape() const { return state().shape(); }
const Options& Plan::options() const { return state().options(); }
int Plan::rank() const { return state().axis().rank(); }
int Plan::num_ranks() const { return state().axis().num_ranks(); }

std::string Plan::picture() const { return schedule::picture(state().choice().schedule); }

std::int64_t Plan::rows_of(int rank, std::int64_t m) const {
  if (rank < 0 || rank >= num_ranks() || m < 0 || m > shape().m ||
      (!shape().rows.empty() && m != shape().m)) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("rank ", rank, " and m=", m, " asked of a plan of ", num_ranks(),
                    " ranks and m=", shape().m));
  }
  return state().rows_of(rank, m);
}

}  // namespace cmm
