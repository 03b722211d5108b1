#include "cmm/plan.hpp"

#include "api/collective.hpp"
#include "api/plan_state.hpp"
#include "base/integers.hpp"
#include "base/text.hpp"
#include "gemm/library/library.hpp"
#include "schedule/picture.hpp"

namespace cmm {
namespace api {
namespace {

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
  const Deadline deadline = agreement_deadline(options.deadline);
  transport::Endpoint& endpoint = axis.endpoint();
  const int num_ranks = axis.num_ranks();
  std::string mine;
  try {
    check_shape(shape, options, num_ranks);
    check_hosts(options, endpoint.hosts());
    isa_ = choose_isa(shape, options);
    if (gemm::LibraryMatrix::preferred(shape.dtype)) engine_ = Engine::kOneDnn;
  } catch (const Error& error) {
    mine = error.what();
  }
  agree(axis, shape, options, mine, deadline);

  // All ranks have agreed. From here on only this rank's memory or threads can fail it, and its
  // peers must hear of that, so they exchange once more whether all have succeeded: nothing, or the
  // number of a code and words.
  choice_ = choose(shape, options, endpoint.hosts());
  partition_ = shape.rows.empty() ? schedule::Partition::even(shape.m, choice_.schedule)
                                  : schedule::Partition::uneven(shape.rows, choice_.schedule);
  const auto failed = [&mine](ErrorCode code, const std::string& words) {
    mine = cat(static_cast<int>(code), ' ', words);
  };
  std::unique_ptr<transport::Channel> channel;
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
    channel = endpoint.open_channel(executor_->gather().channel_shape());
  } catch (const Error& error) {
    failed(error.code(), error.what());
  } catch (const std::exception& error) {
    failed(ErrorCode::kOutOfMemory, cat("no memory for the plan: ", error.what()));
  }
  for (int rank = 0;
       const std::string& text : endpoint.exchange(mine, deadline, transport::Purpose::kPlan)) {
    if (!text.empty()) {
      const bool unsupported =
          text.starts_with(cat(static_cast<int>(ErrorCode::kUnsupported), ' '));
      throw Refused(unsupported ? ErrorCode::kUnsupported : ErrorCode::kOutOfMemory,
                    cat("rank ", rank, " of axis '", axis.name(),
                        "' cannot make the plan: ", text.substr(text.find(' ') + 1)),
                    rank);
    }
    ++rank;
  }
  channel->connect(deadline);
  executor_->gather().attach(std::move(channel));
  number_ = endpoint.count_plan();
  endpoint.history().planned(number_);
}

std::int64_t PlanState::rows_of(int rank, std::int64_t m) const {
  if (!shape_.rows.empty()) return shape_.rows[static_cast<std::size_t>(rank)];
  return even_part(m, axis_.num_ranks(), rank).size();
}

std::int64_t PlanState::shard_bytes() const {
  return largest_shard_bytes(shape_, axis_.num_ranks());
}

}  // namespace api

Plan Plan::make(const Axis& axis, const ProblemShape& shape, const Options& options) {
  const api::Claim claim(axis, {.kind = transport::History::Kind::kPlan, .m = shape.m});
  axis.endpoint().check_usable();
  return Plan(api::collectively(axis.endpoint(), "the making of a plan", [&] {
    return std::make_shared<api::PlanState>(axis, shape, options);
  }));
}

void Plan::refuse(const Axis& axis, const std::string& reason, std::chrono::milliseconds deadline) {
  const api::Claim claim(axis, {.kind = transport::History::Kind::kPlan});
  axis.endpoint().check_usable();
  throw api::collectively(axis.endpoint(), "the making of a plan", [&] {
    return api::agree_to_refuse(axis, reason.empty() ? "it gives no reason" : reason,
                                api::agreement_deadline(deadline));
  });
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
