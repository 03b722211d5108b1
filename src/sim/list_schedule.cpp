// The list scheduler. It goes through the kernel step by step on the clock of the copy engine and
// decides at each what to multiply, load and send by what has come, or, by this clock, will have.
// The steps it writes down are a schedule for any machine: each waits for what it needs.
#include <algorithm>

#include "base/integers.hpp"
#include "base/text.hpp"
#include "sim/list_context.hpp"
#include "sim/out_slots.hpp"
#include "sim/stream_schedule.hpp"
#include "sim/tile_choice.hpp"
#include "sim/tile_plan.hpp"
#include "sim/x_stream.hpp"
#include "sim/y_stream.hpp"

namespace cmm::sim {
namespace {

using schedule::TileSchedule;
using schedule::TileShape;

constexpr std::int64_t kWordBytes = 4;

class ListScheduler {
 public:
  ListScheduler(const TileProblem& problem, const TileParameters& parameters,
                const TileShape& shape, std::int64_t most_steps)
      : context_(problem, parameters, shape),
        most_steps_(most_steps),
        choice_(shape, parameters),
        x_(context_, choice_),
        y_(context_, choice_),
        out_(context_) {
    context_.estimate_control(parameters.loads_per_step, parameters.loads_per_step);
  }

  // Why it got stuck, or nothing.
  std::string run() {
    while (choice_.num_left() > 0) {
      x_.look_around();
      y_.look_around();
      if (std::ssize(context_.schedule.steps) > most_steps_)
        return cat("takes more than ", most_steps_, " steps, whose table SMEM does not hold, with ",
                   choice_.num_left(), " products to go");
      const auto product = choice_.choose(x_.groups_there(), y_.there());
      x_.await_what_has_come();
      const double seconds =
          product ? context_.step_seconds(product->body) : seconds_to_next_block();
      if (product) out_.await_next(product->body);
      start_loads(seconds);
      x_.send(seconds);
      if (!context_.schedule.steps.empty()) x_.store_own();
      if (product)
        multiply(*product);
      else if (!idle())
        return cat("gets stuck with ", choice_.num_left(), " products to go");
    }
    while (x_.has_own_to_store()) {
      x_.store_own();
      push_step();
    }
    drain();
    return {};
  }

  TileSchedule take() { return std::move(context_.schedule); }

 private:
  // With nothing to multiply a step ends when the next block comes.
  double seconds_to_next_block() const {
    return y_.next_bytes() / context_.machine.chip.hbm_bytes_per_second;
  }

  // Keeps as many bytes on their way as HBM moves during the step. At the very start one group and
  // one block: with more, all of them would come late.
  void start_loads(double seconds) {
    const bool first = context_.schedule.steps.empty();
    const tpu::Chip& chip = context_.machine.chip;
    const double wanted =
        chip.hbm_bytes_per_second * (seconds + chip.copy_seconds) * context_.parameters.y_ahead;
    const int most = first ? 1 : context_.parameters.loads_per_step;
    double in_flight = x_.bytes_in_flight() + y_.bytes_in_flight();
    for (int i = 0; i < most && (first || in_flight < wanted) && x_.can_load(); ++i)
      in_flight += x_.load();
    for (int i = 0; i < most && (first || in_flight < wanted) && y_.can_load(); ++i)
      in_flight += y_.load();
  }

  // Waits for the next thing that allows another start or product. False: nothing is on its way.
  bool idle() {
    x_.remember();
    while (!x_.await_new() && !y_.await_new()) {
      if (!context_.engine.advance_to_next_end()) return false;
    }
    const schedule::TileStep& step = context_.step;
    if (step.waits.empty() && step.starts.empty() && step.operands.empty()) return true;
    if (!step.operands.empty())
      context_.engine.advance_to(context_.engine.now() + context_.control_seconds);
    push_step();
    return true;
  }

  void multiply(const TileChoice::Product& product) {
    schedule::TileStep& step = context_.step;
    const int groups_per_hop = static_cast<int>(context_.shape.num_groups());
    step.body = product.body;
    step.out_slot = out_.next(product.body);
    for (const TilePair pair : product.pairs) {
      const int load = choice_.load_of(pair);
      x_.await(pair.group);
      y_.await(load);
      step.ops.push_back({.hop = pair.group / groups_per_hop,
                          .group = pair.group % groups_per_hop,
                          .block = pair.block,
                          .x_slot = x_.slot_of(pair.group),
                          .y_slot = y_.slot_of(load)});
    }
    context_.engine.advance_to(context_.engine.now() + context_.step_seconds(product.body));
    out_.store(product.body);
    x_.store(product);
    choice_.mark_done(product);
    for (const TilePair pair : product.pairs) y_.is_used(choice_.load_of(pair));
    push_step();
  }

  void push_step() {
    x_.free_slots();
    context_.push_step();
  }

  void drain() {
    x_.drain(context_.schedule.drain);
    out_.drain(OutSlots::DrainOrder::kOldestFirst, context_.schedule.drain);
    ListContext::sort(context_.schedule.drain);
  }

  ListContext context_;
  std::int64_t most_steps_;
  TileChoice choice_;
  XStream x_;
  YStream y_;
  OutSlots out_;
};

// Each with the largest body.
std::int64_t least_steps(const TileShape& shape) {
  std::int64_t most_pairs = 1;
  for (const schedule::TileBody& body : shape.bodies)
    most_pairs = std::max<std::int64_t>(most_pairs, std::int64_t{body.groups} * body.blocks);
  const std::int64_t groups = shape.num_devices * shape.num_groups();
  return ceil_div(groups * shape.num_blocks(), most_pairs);
}

}  // namespace

ListScheduled list_schedule(const TileProblem& problem, const TileParameters& parameters) {
  if (parameters.y_ahead <= 0 || parameters.send_ahead <= 0 || parameters.sends_per_step < 1 ||
      parameters.loads_per_step < 1)
    return {std::nullopt, "needs positive sends, loads, y_ahead and send_ahead"};
  const ShapeOrNot shape = shape_of(problem, parameters);
  if (!shape.shape) return {std::nullopt, shape.why_not};
  const std::int64_t room =
      (problem.machine.chip.smem_bytes - schedule::kReservedSmemBytes) / kWordBytes;
  TilePlan plan{{}, parameters, {}};
  if (shape.shape->num_k_blocks() > 1) {
    StreamScheduled streamed = stream_schedule(problem, parameters, *shape.shape);
    if (!streamed.why_not.empty()) return {std::nullopt, streamed.why_not};
    plan.schedule = std::move(streamed.schedule);
  } else {
    // Found out before, else a problem of any size would be scheduled to its end first.
    const std::int64_t most_steps = room / schedule::least_row_words(*shape.shape);
    const std::int64_t steps = least_steps(*shape.shape);
    if (steps > most_steps)
      return {std::nullopt, cat("takes at least ", steps, " steps, and SMEM holds a table of ",
                                most_steps, " at most")};
    ListScheduler scheduler(problem, parameters, *shape.shape, most_steps);
    const std::string why_not = scheduler.run();
    if (!why_not.empty()) return {std::nullopt, why_not};
    plan.schedule = scheduler.take();
  }
  const std::int64_t words = most_table_words(plan.schedule);
  if (words > room)
    return {std::nullopt,
            cat("takes a table of ", words, " words; SMEM holds ", room, " of a kernel's")};
  plan.times = walk(plan.schedule, problem.machine);
  return {std::move(plan), {}};
}

}  // namespace cmm::sim
