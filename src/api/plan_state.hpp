// What stands behind a Plan: one rank's executor and the shapes it was checked for.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "cmm/all_gather_matmul.hpp"
#include "cmm/plan.hpp"
#include "exec/executor.hpp"
#include "schedule/partition.hpp"
#include "schedule/schedule.hpp"
#include "transport/transport.hpp"

namespace cmm::api {

using transport::Operation;

// The choices of a plan, made alike on every rank.
struct Choice {
  schedule::Shape schedule;
  std::string reason;
};

// Holds a rank's end of an axis for one operation, and keeps it in the history. Throws
// Error(kBusy).
class Claim {
 public:
  Claim(const Axis& axis, const transport::History::Operation& operation);
  ~Claim() {
    endpoint_.history().end(std::uncaught_exceptions() > num_exceptions_);
    endpoint_.unclaim();
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

 private:
  transport::Endpoint& endpoint_;
  const int num_exceptions_ = std::uncaught_exceptions();
};

class PlanState {
 public:
  // Collective; see Plan::make, which holds the claim and tells the peers where this throws
  // anything but Refused.
  PlanState(const Axis& axis, const ProblemShape& shape, const Options& options);

  const Axis& axis() const { return axis_; }
  const ProblemShape& shape() const { return shape_; }
  const Options& options() const { return options_; }
  const Choice& choice() const { return choice_; }
  Isa isa() const { return isa_; }
  // Of the last call; before the first, what Weights::pack chooses by default.
  Engine engine() const { return engine_.load(std::memory_order_relaxed); }
  DType out_dtype() const { return shape_.out_dtype.value_or(shape_.dtype); }
  int num_outputs() const { return options_.swiglu ? 1 : static_cast<int>(shape_.n_local.size()); }
  std::int64_t rows_of(int rank, std::int64_t m) const;
  std::int64_t workspace_bytes() const { return executor_->workspace_bytes(); }
  // Of the largest shard.
  std::int64_t shard_bytes() const;
  // Chunks that this rank fetches into slots, of those it receives; the rest is read in place.
  int num_fetches() const { return executor_->gather().num_fetches(); }
  // For tests: called at the named points of every later call.
  void set_hook(const exec::Hook& hook) { executor_->set_hook(hook); }

  // The two collective calls; see all_gather_matmul.hpp.
  void multiply(const ConstMatrixRef& x, std::span<const Weights> y, std::span<const MatrixRef> out,
                const MatrixRef& gathered);
  void gather(const ConstMatrixRef& x, const MatrixRef& gathered);

 private:
  void check_x(const ConstMatrixRef& x, std::int64_t m) const;
  void check_side(int side, const Weights& y, const MatrixRef& out, std::int64_t m) const;
  void check_gathered(const MatrixRef& gathered, std::int64_t m) const;
  void check_sides(std::span<const Weights> y, std::span<const MatrixRef> out) const;
  template <class Prepare>
  void run(Operation operation, std::int64_t m, const ConstMatrixRef& x, const MatrixRef& gathered,
           Prepare prepare);

  Axis axis_;
  ProblemShape shape_;
  Options options_;
  Isa isa_ = Isa::kPortable;
  Choice choice_;
  std::unique_ptr<exec::Executor> executor_;
  std::atomic<Engine> engine_{Engine::kOwn};

  int number_ = 0;  // among the plans of the axis, from 1

  // Reused by every call, so that none allocates.
  std::uint64_t num_calls_ = 0;
  std::vector<gemm::Side> sides_;
  schedule::Partition partition_;
};

// Throws Error(kInvalidArgument) for what one rank can see alone.
void check_shape(const ProblemShape& shape, const Options& options, int num_ranks);

// Collective: throws the same Error(kInvalidArgument) on every rank where any rank's arguments
// are wrong (`mine` not empty) or the ranks disagree.
void agree(const Axis& axis, const ProblemShape& shape, const Options& options,
           const std::string& mine, const Deadline& deadline);
// Of a rank that cannot even say what it wants: takes part in agree() of the others, and returns
// what that throws on every rank.
class Refused;
Refused agree_to_refuse(const Axis& axis, const std::string& reason, const Deadline& deadline);

std::int64_t largest_shard_bytes(const ProblemShape& shape, int num_ranks);

cmm::Algorithm to_public(schedule::Algorithm algorithm);

// Throws Error(kInvalidArgument) where the algorithm does not fit the ranks' hosts.
void check_hosts(const Options& options, const std::vector<int>& hosts);

// `hosts`: that of each rank, as Endpoint::hosts().
Choice choose(const ProblemShape& shape, const Options& options, const std::vector<int>& hosts);

}  // namespace cmm::api
