// The two collective calls: checks, then the executor, then whatever a failure demands.
#include "api/collective.hpp"
#include "api/plan_state.hpp"
#include "base/text.hpp"
#include "gemm/panels.hpp"

namespace cmm {
namespace api {
namespace {

// How long a failing call waits for peers that still read this rank's rows. They stop before their
// next unit of packing, some tens of microseconds, once the operating system lets them run.
constexpr std::chrono::milliseconds kQuiesceLimit{60'000};

[[noreturn]] void reject(const std::string& message, int rank) {
  throw Error(ErrorCode::kInvalidArgument, message, rank);
}

std::string extents(const ConstMatrixRef& matrix) {
  return cat("[", matrix.rows, ", ", matrix.cols, "] ", dtype_name(matrix.dtype));
}

// [rows, cols] of the dtype, with a stride that keeps rows apart and a pointer where needed.
struct Expected {
  const char* name;
  std::int64_t rows;
  std::int64_t cols;
  DType dtype;
  int rank;
};
void check_matrix(const ConstMatrixRef& matrix, const Expected& expected) {
  const ConstMatrixRef right(nullptr, expected.dtype, expected.rows, expected.cols, 0);
  if (matrix.rows != expected.rows || matrix.cols != expected.cols ||
      matrix.dtype != expected.dtype) {
    reject(cat(expected.name, " of rank ", expected.rank, " is ", extents(matrix),
               "; this plan needs ", extents(right)),
           expected.rank);
  }
  if (matrix.rows > 1 && matrix.row_stride < matrix.cols) {
    reject(cat(expected.name, " of rank ", expected.rank, " has row stride ", matrix.row_stride,
               "; it must be at least its ", matrix.cols, " columns"),
           expected.rank);
  }
  if (matrix.data == nullptr && matrix.rows > 0 && matrix.cols > 0) {
    reject(cat(expected.name, " of rank ", expected.rank, " is ", extents(matrix),
               " at a null pointer"),
           expected.rank);
  }
}

}  // namespace

void PlanState::check_x(const ConstMatrixRef& x, std::int64_t m) const {
  const int rank = axis_.rank();
  if (m < 0 || m > shape_.m || (!shape_.rows.empty() && m != shape_.m)) {
    reject(cat("rank ", rank, " calls with m=", m, " rows of output; this plan serves ",
               shape_.rows.empty() ? "at most" : "exactly", " m=", shape_.m),
           rank);
  }
  check_matrix(x, {"x_local", rows_of(rank, m), shape_.k, shape_.dtype, rank});
}

void PlanState::check_sides(std::span<const Weights> y, std::span<const MatrixRef> out) const {
  const std::size_t num_sides = shape_.n_local.size();
  const auto num_outs = static_cast<std::size_t>(num_outputs());
  if (y.size() != num_sides || out.size() != num_outs) {
    reject(cat("rank ", axis_.rank(), " calls with ", y.size(), " right sides and ", out.size(),
               " outputs; this plan has ", num_sides, " and ", num_outs),
           axis_.rank());
  }
  for (std::size_t side = 1; side < num_sides; ++side) {
    if (y[side].engine() == y[0].engine()) continue;
    reject(cat("right side ", side, " of rank ", axis_.rank(), " is packed for engine ",
               engine_name(y[side].engine()), " and right side 0 for engine ",
               engine_name(y[0].engine()), "; one call takes right sides of one engine"),
           axis_.rank());
  }
}

void PlanState::check_side(int side, const Weights& y, const MatrixRef& out, std::int64_t m) const {
  const int rank = axis_.rank();
  const std::int64_t n = shape_.n_local[static_cast<std::size_t>(side)];
  if (y.panels() == nullptr && y.library() == nullptr && y.viewed() == nullptr) {
    reject(cat("right side ", side, " of rank ", rank, " was moved from; it holds no weights"),
           rank);
  }
  if (y.k() != shape_.k || y.n() != n || y.dtype() != shape_.dtype) {
    reject(cat("right side ", side, " of rank ", rank, " is [", y.k(), ", ", y.n(), "] ",
               dtype_name(y.dtype()), "; this plan needs [", shape_.k, ", ", n, "] ",
               dtype_name(shape_.dtype)),
           rank);
  }
  check_matrix(out, {"out", m, n, out_dtype(), rank});
}

void PlanState::check_gathered(const MatrixRef& gathered, std::int64_t m) const {
  check_matrix(gathered, {"gathered", m, shape_.k, shape_.dtype, axis_.rank()});
}

// `prepare` checks the arguments and fills sides_; it throws before any data moves. Its errors end
// the axis all the same: the peers are in the call already and would wait for this rank.
template <class Prepare>
void PlanState::run(Operation operation, std::int64_t m, const ConstMatrixRef& x,
                    const MatrixRef& gathered, Prepare prepare) {
  const Claim claim(
      axis_, {.kind = operation == Operation::kAllGather ? transport::History::Kind::kGather
                                                         : transport::History::Kind::kMultiply,
              .plan = number_,
              .m = m,
              .num_chunks = executor_->gather().num_chunks()});
  transport::Endpoint& endpoint = axis_.endpoint();
  endpoint.history().called(++num_calls_);
  endpoint.check_usable();
  // Returns what is to be added to the error: the caller will free its rows on seeing it.
  const auto settle = [this]() -> std::string {
    exec::Gather& gather = executor_->gather();
    gather.end();
    const int reader = gather.quiesce(kQuiesceLimit);
    return reader < 0 ? "" : cat("; rank ", reader, " still reads x_local: keep it");
  };
  const auto interrupted = [&](const char* reason) {
    tell_peers(endpoint, [&] {
      return Error(ErrorCode::kPeerFailed,
                   cat("rank ", axis_.rank(), " was interrupted in a call: ", reason),
                   axis_.rank());
    });
    const std::string warning = settle();
    if (!warning.empty()) throw Error(ErrorCode::kPeerFailed, reason + warning, axis_.rank());
  };
  try {
    sides_.clear();
    prepare();
    if (shape_.rows.empty()) partition_.set_even(m);
    const exec::Call call = {
        .header = {.call = num_calls_, .m = m, .operation = static_cast<std::int64_t>(operation)},
        .x = x,
        .m = m,
        .product = {.kernels = &gemm::kernels(isa_),
                    .dtype = shape_.dtype,
                    .k = shape_.k,
                    .sides = sides_,
                    .swiglu = options_.swiglu},
        .gathered = gathered};
    executor_->run(call, partition_);
    return;
  } catch (const Error& error) {
    endpoint.fail(error);
    const std::string warning = settle();
    if (warning.empty()) endpoint.check_alive();  // throws the cause that all ranks report
    throw Error(error.code(), error.what() + warning, error.rank());
  } catch (const std::exception& error) {
    interrupted(error.what());
    throw;
  } catch (...) {
    interrupted("an exception of unknown type");
    throw;
  }
}

void PlanState::multiply(const ConstMatrixRef& x, std::span<const Weights> y,
                         std::span<const MatrixRef> out, const MatrixRef& gathered) {
  const std::int64_t m = out.empty() ? -1 : out[0].rows;
  run(Operation::kAllGatherMatmul, m, x, gathered, [&] {
    check_sides(y, out);
    check_x(x, m);
    if (!y.empty()) engine_.store(y[0].engine(), std::memory_order_relaxed);
    if (gathered.data != nullptr) check_gathered(gathered, m);
    for (std::size_t side = 0; side < y.size(); ++side) {
      const MatrixRef& to = out[options_.swiglu ? 0 : side];
      check_side(static_cast<int>(side), y[side], to, m);
      sides_.push_back({.y = y[side].panels(),
                        .view = y[side].viewed(),
                        .library = y[side].library(),
                        .bias = y[side].bias(),
                        .activation = options_.activations.empty() ? Activation::kNone
                                                                   : options_.activations[side],
                        .out = to});
    }
  });
}

void PlanState::gather(const ConstMatrixRef& x, const MatrixRef& gathered) {
  run(Operation::kAllGather, gathered.rows, x, gathered, [&] {
    check_x(x, gathered.rows);
    check_gathered(gathered, gathered.rows);
  });
}

}  // namespace api

void all_gather_matmul(const Plan& plan, const ConstMatrixRef& x_local, std::span<const Weights> y,
                       std::span<const MatrixRef> out, const CallOptions& options) {
  plan.state().multiply(x_local, y, out, options.gathered);
}

void all_gather_matmul(const Plan& plan, const ConstMatrixRef& x_local, const Weights& y,
                       const MatrixRef& out, const CallOptions& options) {
  all_gather_matmul(plan, x_local, std::span(&y, 1), std::span(&out, 1), options);
}

void all_gather(const Plan& plan, const ConstMatrixRef& x_local, const MatrixRef& gathered) {
  plan.state().gather(x_local, gathered);
}

}  // namespace cmm
