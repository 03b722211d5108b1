#include "sim/tile_walk.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>

#include "base/check.hpp"
#include "base/text.hpp"
#include "sim/copy_spans.hpp"
#include "sim/tile_copies.hpp"

namespace cmm::sim {
namespace {

using schedule::kNone;
using schedule::Side;
using schedule::TileAction;
using schedule::TileBody;
using schedule::TileOp;
using schedule::TileSchedule;
using schedule::TileShape;
using schedule::TileStep;
using Kind = TileAction::Kind;
using Copies = std::vector<int>;

constexpr std::int64_t kWideCols = 512;

class Walker {
 public:
  Walker(const TileSchedule& schedule, const TileMachine& machine, const WalkOptions& options)
      : schedule_(schedule),
        shape_(schedule.shape),
        machine_(machine),
        options_(options),
        works_(machine, schedule.shape),
        engine_(engine_rates(machine)),
        control_seconds_(
            (options.cycles != nullptr
                 ? options.cycles->control
                 : control_cycles(machine.chip, shape_, schedule::count_fields(schedule))) /
            machine.chip.clock_hz) {
    for (const TileBody& body : shape_.bodies) stores_.emplace_back(body.out_slots);
    x_loads_.resize(shape_.x_slots);
    y_loads_.resize(shape_.y_slots);
    x_stores_.resize(shape_.x_slots);
    for (const Side side : schedule::kSides)
      sends_[index(side)].resize(shape_.num_devices * shape_.num_pieces(side));
  }

  TileTimes run() {
    entry_ = {start(works_.entry(), TileSpan::Lane::kWait, kNone, "entry")};
    for (step_ = 0; step_ < static_cast<int>(schedule_.steps.size()); ++step_)
      walk(schedule_.steps[step_]);
    step_ = kNone;
    in_tail_ = true;
    for (const TileAction& action : schedule_.drain) act(action);
    const double exit = static_cast<double>(schedule::num_semaphores(shape_)) *
                        machine_.chip.semaphore_exit_cycles / machine_.chip.clock_hz;
    engine_.advance_to(engine_.now() + exit);
    times_.tail_seconds += exit;

    times_.seconds = engine_.now();
    times_.exposed_seconds += times_.idle_x_seconds + times_.idle_other_seconds;
    times_.hbm_busy = engine_.hbm_bytes() / machine_.chip.hbm_bytes_per_second / times_.seconds;
    times_.link_busy =
        std::max(engine_.link_seconds(Link::kForward), engine_.link_seconds(Link::kBackward)) /
        times_.seconds;
    times_.num_steps = static_cast<int>(schedule_.steps.size());
    copy_spans_.move_to(times_.spans, engine_);
    return std::move(times_);
  }

 private:
  static std::size_t index(Side side) { return static_cast<std::size_t>(side); }

  void walk(const TileStep& step) {
    for (const TileAction& action : step.waits) act(action);
    for (const TileAction& action : step.starts) act(action);
    for (const TileAction& action : step.operands) act(action);
    spend(control_seconds_ * kControlBefore, times_.control_seconds);
    if (step.body != kNone) multiply(step);
    spend(control_seconds_ * (1 - kControlBefore), times_.control_seconds);
    for (const TileAction& action : step.after) {
      if (action.kind == Kind::kStore)
        store(step);
      else
        act(action);
    }
  }

  void spend(double seconds, double& sum) {
    sum += seconds;
    engine_.advance_to(engine_.now() + seconds);
  }

  void multiply(const TileStep& step) {
    const tpu::Chip& chip = machine_.chip;
    const double begin = engine_.now();
    const double cycles = product_cycles(machine_, shape_, step.body);
    const double fill = options_.cycles != nullptr
                            ? std::max(0.0, options_.cycles->products[step.body] - cycles)
                            : fill_cycles(machine_, shape_, step.body);
    spend(fill / chip.clock_hz, times_.control_seconds);
    spend(cycles / chip.clock_hz, times_.mxu_seconds);
    if (!options_.spans) return;
    const TileOp& op = step.ops.front();
    const bool one_hop =
        std::ranges::all_of(step.ops, [&op](const TileOp& other) { return other.hop == op.hop; });
    times_.spans.push_back(
        {TileSpan::Lane::kMxu, begin, engine_.now(), step_, one_hop ? op.hop : kNone,
         cat("body ", step.body, " from hop ", op.hop, " group ", op.group, " block ", op.block)});
  }

  void wait(const Copies& copies, double& sum, bool of_x, const char* what) {
    const double begin = engine_.now();
    for (const int copy : copies) engine_.wait(copy);
    const double waited = engine_.now() - begin;
    if (waited == 0) return;
    (in_tail_ ? times_.tail_seconds : sum) += waited;
    if (in_tail_ && of_x) times_.exposed_seconds += waited;
    if (options_.spans)
      times_.spans.push_back(
          {TileSpan::Lane::kWait, begin, engine_.now(), step_, kNone, cat("waits for ", what)});
  }

  void act(const TileAction& action) {
    switch (action.kind) {
      case Kind::kAwaitEntry:
        return wait(entry_, times_.idle_other_seconds, true, "the neighbours to enter");
      case Kind::kAwaitDeparture: {
        auto& departing = departing_[index(action.side)];
        wait({departing.front()}, times_.idle_other_seconds, true, "a departure");
        return departing.pop_front();
      }
      case Kind::kAwaitArrival:
        return wait({send_of(action.side, action.hop - 1, action.piece)}, times_.idle_x_seconds,
                    true, "rows of x");
      case Kind::kAwaitX:
        return wait(x_loads_[action.slot], times_.idle_x_seconds, true, "rows of x");
      case Kind::kAwaitY:
        return wait(y_loads_[action.slot], times_.idle_y_seconds, false, "a block of y");
      case Kind::kAwaitStore:
        return wait(stores_[action.body][action.slot], times_.idle_out_seconds, false,
                    "an output slot");
      case Kind::kAwaitStoreX:
        return wait(x_stores_[action.slot], times_.idle_other_seconds, false, "a store of x");
      case Kind::kAwaitCredit: {
        auto& credits = credits_[index(action.side)];
        wait({credits.front()}, times_.idle_other_seconds, true, "a credit");
        return credits.pop_front();
      }
      case Kind::kSend: {
        const auto lane =
            action.side == Side::kForward ? TileSpan::Lane::kForward : TileSpan::Lane::kBackward;
        const int copy = start(works_.send(action.side, action.hop, action.piece), lane, action.hop,
                               "send hop ", action.hop, " piece ", action.piece);
        send_of(action.side, action.hop, action.piece) = copy;
        return departing_[index(action.side)].push_back(copy);
      }
      case Kind::kLoadX:
        x_loads_[action.slot] = {start(works_.load_x(action.group, engine_.now()),
                                       TileSpan::Lane::kHbm, action.hop, "x hop ", action.hop,
                                       " group ", action.group)};
        return;
      case Kind::kLoadY:
        y_loads_[action.slot].clear();
        for (int part = 0; part < shape_.y_parts; ++part)
          y_loads_[action.slot].push_back(start(works_.load_y_part(action.block),
                                                TileSpan::Lane::kHbm, kNone, "y block ",
                                                action.block));
        return;
      case Kind::kStoreX:
        x_stores_[action.slot] = {start(works_.store_x(action.group), TileSpan::Lane::kHbm,
                                        action.hop, "store x hop ", action.hop)};
        return;
      case Kind::kGrant:
        credits_[index(action.side)].push_back(
            start(works_.credit(), TileSpan::Lane::kWait, kNone, "credit"));
        return;
      case Kind::kStore:
        CMM_DCHECK(false);
        return;  // store() knows the step
    }
  }

  // A rectangle stores a group's columns together.
  void store(const TileStep& step) {
    const TileBody& body = shape_.bodies[step.body];
    const int together = body.free ? 1 : body.blocks;
    Copies& copies = stores_[step.body][step.out_slot];
    copies.clear();
    for (std::size_t i = 0; i < step.ops.size(); i += together) {
      const TileOp& op = step.ops[i];
      copies.push_back(start(works_.store(op.group, op.block, together), TileSpan::Lane::kHbm,
                             op.hop, "out hop ", op.hop, " group ", op.group, " block ", op.block));
    }
  }

  int& send_of(Side side, int hop, int piece) {
    return sends_[index(side)][hop * shape_.num_pieces(side) + piece];
  }

  template <class... Parts>
  int start(const CopyWork& work, TileSpan::Lane lane, int hop, const Parts&... parts) {
    const int copy = engine_.start(work);
    if (options_.spans && lane != TileSpan::Lane::kWait)
      copy_spans_.add(copy, {lane, 0, 0, step_, hop, cat(parts...)});
    return copy;
  }

  const TileSchedule& schedule_;
  const TileShape& shape_;
  const TileMachine& machine_;
  const WalkOptions& options_;
  TileCopies works_;
  CopyEngine engine_;
  double control_seconds_;
  TileTimes times_;
  int step_ = 0;
  bool in_tail_ = false;

  Copies entry_;
  std::vector<Copies> x_loads_, y_loads_, x_stores_;  // the last of each slot
  std::vector<std::vector<Copies>> stores_;           // of each body's slots
  std::array<std::vector<int>, 2> sends_;             // [hop][piece]
  std::array<std::deque<int>, 2> departing_, credits_;
  CopySpans copy_spans_;
};

}  // namespace

double op_cycles(const tpu::Chip& chip, tpu::Element element, double rows, double k, double cols) {
  const double tiles = std::ceil(k / chip.mxu_tile) * std::ceil(cols / chip.mxu_tile);
  return tiles / chip.num_mxus * std::max(rows * chip.mxu_cycles_per_row, chip.mxu_push_cycles) /
         chip.mxu_rate[static_cast<std::size_t>(element)];
}

namespace {

double rows_of(const TileShape& shape, int body) {
  return static_cast<double>(2 * shape.bodies[body].groups * shape.side_rows);
}

}  // namespace

double product_cycles(const TileMachine& machine, const TileShape& shape, int body) {
  const TileBody& what = shape.bodies[body];
  return what.blocks * op_cycles(machine.chip, machine.elements.operand, rows_of(shape, body),
                                 static_cast<double>(shape.block_k),
                                 static_cast<double>(shape.block_cols));
}

double fill_cycles(const tpu::Chip& chip, tpu::Element element, double rows, double cols) {
  const double last = std::min(rows * chip.mxu_cycles_per_row, chip.mxu_push_cycles) /
                      chip.mxu_rate[static_cast<std::size_t>(element)];
  return (cols > kWideCols ? chip.wide_block_cycles : chip.block_cycles) + last;
}

double fill_cycles(const TileMachine& machine, const TileShape& shape, int body) {
  return fill_cycles(machine.chip, machine.elements.operand, rows_of(shape, body),
                     static_cast<double>(shape.block_cols));
}

double control_cycles(const tpu::Chip& chip, const TileShape& shape,
                      const schedule::TileFields& fields) {
  const auto beyond = [](int count, int free) { return std::max(count - free, 0); };
  const int num_bodies = static_cast<int>(shape.bodies.size());
  return chip.step_cycles + chip.body_cycles * beyond(num_bodies, 1) +
         chip.send_cycles * beyond(fields.sends, 1) +
         chip.load_cycles * (beyond(fields.x_loads, 1) + beyond(fields.y_loads * shape.y_parts, 1) +
                             2 * fields.x_stores) +
         chip.store_cycles * beyond(fields.out_groups, 1) +
         chip.column_cycles * beyond(fields.wide_blocks, 1) +
         (shape.needs_credits() ? chip.credit_cycles : 0);
}

TileTimes walk(const TileSchedule& schedule, const TileMachine& machine,
               const WalkOptions& options) {
  return Walker(schedule, machine, options).run();
}

}  // namespace cmm::sim
