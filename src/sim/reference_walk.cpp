#include "sim/reference_walk.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "schedule/reference_steps.hpp"
#include "sim/copy_spans.hpp"
#include "sim/tile_copies.hpp"

namespace cmm::sim {
namespace {

using schedule::kNone;
using schedule::ReferenceAction;
using schedule::ReferenceShape;
using Kind = ReferenceAction::Kind;
using Copies = std::vector<int>;

// Of one basic block the compiler makes: wider ones fill and drain the MXU more slowly.
// To move an accumulator's 1024 elements and clear them.
constexpr double kDrainCycles = 0.75;

ReferenceShape shape_of(const ReferenceProblem& problem) {
  return {.num_devices = problem.num_devices,
          .grid_n = problem.cols / problem.bn,
          .grid_k = problem.k / problem.bk};
}

class ReferenceWalker {
 public:
  ReferenceWalker(const ReferenceProblem& problem, const WalkOptions& options)
      : problem_(problem),
        chip_(problem.machine.chip),
        options_(options),
        shape_(shape_of(problem)),
        engine_(engine_rates(problem.machine)) {}

  TileTimes run() {
    for (const std::vector<ReferenceAction>& actions : reference_steps(shape_)) {
      walk(actions);
      ++point_;
    }
    const double semaphores = 4 * (problem_.num_devices - 1) + 5;
    spend(semaphores * chip_.semaphore_exit_cycles, times_.tail_seconds);
    times_.seconds = engine_.now();
    times_.exposed_seconds += times_.idle_x_seconds + times_.idle_other_seconds;
    times_.hbm_busy = engine_.hbm_bytes() / chip_.hbm_bytes_per_second / times_.seconds;
    times_.link_busy =
        std::max(engine_.link_seconds(Link::kForward), engine_.link_seconds(Link::kBackward)) /
        times_.seconds;
    times_.num_steps = point_;
    copy_spans_.move_to(times_.spans, engine_);
    return std::move(times_);
  }

 private:
  // What is started, multiplied, and only then awaited.
  void walk(const std::vector<ReferenceAction>& actions) {
    const auto first_wait = std::ranges::find_if(
        actions, [](const ReferenceAction& action) { return action.kind > Kind::kMultiply; });
    const bool multiplies =
        std::ranges::count(actions, Kind::kMultiply, &ReferenceAction::kind) > 0;
    is_tail_ = has_multiplied_ && !multiplies;
    has_multiplied_ = has_multiplied_ || multiplies;
    std::for_each(actions.begin(), first_wait, [this](const auto& action) { act(action); });
    spend(chip_.reference_step_cycles, is_tail_ ? times_.tail_seconds : times_.control_seconds);
    std::for_each(first_wait, actions.end(), [this](const auto& action) { act(action); });
  }

  void act(const ReferenceAction& action) {
    switch (action.kind) {
      case Kind::kEnter:
        return enter();
      case Kind::kSend:
        return start_hop(action.hop);
      case Kind::kLoadX:
        return load_x(action);
      case Kind::kLoadY:
        y_ = {start({.bytes = operand_bytes(problem_.bn * problem_.bk), .hbm_ends = 1}, kNone,
                    "y block ", action.block)};
        return;
      case Kind::kStore:
        return start_store(action);
      case Kind::kMultiply:
        return multiply(action);
      case Kind::kAwaitStore:
        return wait(stores_, times_.idle_out_seconds, "a store of out");
      case Kind::kAwaitY:
        return wait(y_, times_.idle_y_seconds, "a block of y");
      case Kind::kAwaitX:
        return wait(x_, times_.idle_x_seconds, "rows of x");
      case Kind::kAwaitHop:
        return wait(hop_, times_.idle_x_seconds, "rows of x of the next hop");
    }
  }

  void enter() {
    const double begin = engine_.now();
    spend(chip_.entry_seconds * chip_.clock_hz, times_.idle_other_seconds);
    add_span(TileSpan::Lane::kWait, begin, kNone, "waits for the neighbours to enter");
  }

  void start_hop(int hop) {
    hop_.clear();
    for (const Link link : {Link::kForward, Link::kBackward})
      hop_.push_back(start({.bytes = operand_bytes(problem_.shard_rows * problem_.k) / 2,
                            .hbm_ends = 2.0 / chip_.cores_per_device,
                            .link = link,
                            .latency_seconds = problem_.machine.hop_seconds},
                           hop, "send hop ", hop));
  }

  void load_x(const ReferenceAction& action) {
    const int parts = action.hop == 0 ? 1 : 2;
    x_.clear();
    for (int part = 0; part < parts; ++part)
      x_.push_back(
          start({.bytes = operand_bytes(problem_.shard_rows * problem_.bk) / parts, .hbm_ends = 1},
                action.hop, "x hop ", action.hop, " k block ", action.k_block));
  }

  void start_store(const ReferenceAction& action) {
    const int bytes = tpu::element_bytes(problem_.machine.elements.out);
    stores_.clear();
    for (int half = 0; half < 2; ++half)
      stores_.push_back(
          start({.bytes = static_cast<double>(problem_.shard_rows * problem_.bn * bytes) / 2,
                 .hbm_ends = 1},
                action.hop, "out hop ", action.hop, " block ", action.block));
  }

  void multiply(const ReferenceAction& action) {
    const double begin = engine_.now();
    const auto rows = static_cast<double>(problem_.shard_rows);
    const tpu::Element element = problem_.machine.elements.operand;
    spend(fill_cycles(chip_, element, rows, static_cast<double>(problem_.bn)),
          times_.control_seconds);
    spend(op_cycles(chip_, element, rows, static_cast<double>(problem_.bk),
                    static_cast<double>(problem_.bn)),
          times_.mxu_seconds);
    if (shape_.grid_k > 1 && action.k_block == shape_.grid_k - 1)
      spend(rows * static_cast<double>(problem_.bn) / 1024 * kDrainCycles, times_.control_seconds);
    add_span(TileSpan::Lane::kMxu, begin, action.hop, "hop ", action.hop, " block ", action.block,
             " k block ", action.k_block);
  }

  double operand_bytes(std::int64_t elems) const {
    return static_cast<double>(elems) * tpu::element_bytes(problem_.machine.elements.operand);
  }

  template <class... Parts>
  int start(CopyWork work, int hop, const Parts&... parts) {
    const bool remote = work.link != Link::kNone;
    if (!remote) work.latency_seconds = chip_.copy_seconds;
    const int copy = engine_.start(work);
    const auto lane = work.link == Link::kForward    ? TileSpan::Lane::kForward
                      : work.link == Link::kBackward ? TileSpan::Lane::kBackward
                                                     : TileSpan::Lane::kHbm;
    if (options_.spans) copy_spans_.add(copy, {lane, 0, 0, point_, hop, cat(parts...)});
    return copy;
  }

  void spend(double cycles, double& sum) {
    const double seconds = cycles / chip_.clock_hz;
    sum += seconds;
    engine_.advance_to(engine_.now() + seconds);
  }

  void wait(const Copies& copies, double& sum, const char* what) {
    const double begin = engine_.now();
    for (const int copy : copies) engine_.wait(copy);
    (is_tail_ ? times_.tail_seconds : sum) += engine_.now() - begin;
    if (engine_.now() > begin) add_span(TileSpan::Lane::kWait, begin, kNone, "waits for ", what);
  }

  template <class... Parts>
  void add_span(TileSpan::Lane lane, double begin, int hop, const Parts&... parts) {
    if (options_.spans)
      times_.spans.push_back({lane, begin, engine_.now(), point_, hop, cat(parts...)});
  }

  const ReferenceProblem& problem_;
  const tpu::Chip& chip_;
  const WalkOptions& options_;
  ReferenceShape shape_;
  CopyEngine engine_;
  TileTimes times_;
  int point_ = 0;
  bool has_multiplied_ = false;
  bool is_tail_ = false;
  Copies x_, y_, hop_, stores_;  // the last of each kind
  CopySpans copy_spans_;
};

}  // namespace

TileTimes walk_reference(const ReferenceProblem& problem, const WalkOptions& options) {
  return ReferenceWalker(problem, options).run();
}

}  // namespace cmm::sim
