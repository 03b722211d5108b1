// The list scheduler. It goes through the kernel step by step on the clock of the copy engine and
// decides at each what to multiply, load and send by what has come, or, by this clock, will have.
// The steps it writes down are a schedule for any machine: each waits for what it needs.
#include "base/text.hpp"
#include "sim/list_context.hpp"
#include "sim/stream_schedule.hpp"
#include "sim/tile_choice.hpp"
#include "sim/tile_plan.hpp"
#include "sim/x_stream.hpp"
#include "sim/y_stream.hpp"

namespace cmm::sim {
namespace {

using schedule::TileAction;
using schedule::TileBody;
using schedule::TileSchedule;
using schedule::TileShape;
using Kind = TileAction::Kind;

constexpr std::int64_t kWordBytes = 4;

class ListScheduler {
 public:
  ListScheduler(const TileProblem& problem, const TileParameters& parameters,
                const TileShape& shape)
      : context_(problem, parameters, shape),
        choice_(shape, parameters),
        x_(context_, choice_),
        y_(context_, choice_) {
    schedule_.shape = shape;
    for (const TileBody& body : shape.bodies) {
      out_.emplace_back(body.out_slots);
      next_out_.push_back(0);
    }
    estimate_control();
  }

  // Why it got stuck, or nothing.
  std::string run() {
    while (choice_.num_left() > 0) {
      x_.look_around();
      y_.look_around();
      const auto product = choice_.choose(x_.groups_there(), y_.is_there());
      x_.await_what_has_come();
      const double seconds = product ? seconds_of(*product) : seconds_to_next_block();
      if (product) take_out_slot(product->body);
      start_loads(seconds);
      x_.send(seconds);
      if (!schedule_.steps.empty()) x_.store_own();
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

  TileSchedule take() { return std::move(schedule_); }

 private:
  // Before the schedule is there: with as many fields as the parameters allow.
  void estimate_control() {
    schedule::TileFields fields = schedule::count_fields(schedule_);
    fields.sends = context_.parameters.sends_per_step;
    fields.x_loads = context_.parameters.loads_per_step;
    fields.y_loads = context_.parameters.loads_per_step;
    fields.x_stores = context_.shape.gathered ? 1 : 0;
    const tpu::Chip& chip = context_.machine.chip;
    control_seconds_ = control_cycles(chip, context_.shape, fields) / chip.clock_hz;
  }

  double seconds_of(const TileChoice::Product& product) const {
    const double cycles = product_cycles(context_.machine, context_.shape, product.body) +
                          fill_cycles(context_.machine.chip, context_.shape);
    return cycles / context_.machine.chip.clock_hz + control_seconds_;
  }
  // With nothing to multiply a step ends when the next block comes.
  double seconds_to_next_block() const {
    return y_.next_bytes() / context_.machine.chip.hbm_bytes_per_second;
  }

  void take_out_slot(int body) {
    std::vector<int>& stores = out_[body][next_out_[body]];
    if (stores.empty()) return;
    context_.step.waits.push_back(
        {.kind = Kind::kAwaitStore, .body = body, .slot = next_out_[body]});
    for (const int store : stores) context_.engine.wait(store);
    stores.clear();
  }

  // Keeps as many bytes on their way as HBM moves during the step. At the very start one group and
  // one block: with more, all of them would come late.
  void start_loads(double seconds) {
    const bool first = schedule_.steps.empty();
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
      context_.engine.advance_to(context_.engine.now() + control_seconds_);
    push_step();
    return true;
  }

  void multiply(const TileChoice::Product& product) {
    schedule::TileStep& step = context_.step;
    const int groups_per_hop = static_cast<int>(context_.shape.num_groups());
    step.body = product.body;
    step.out_slot = next_out_[product.body];
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
    context_.engine.advance_to(context_.engine.now() + seconds_of(product));
    store(product);
    x_.store(product);
    choice_.mark_done(product);
    for (const TilePair pair : product.pairs) y_.is_used(choice_.load_of(pair));
    push_step();
  }

  void store(const TileChoice::Product& product) {
    const TileBody& body = context_.shape.bodies[product.body];
    const int together = body.free ? 1 : body.blocks;
    int& slot = next_out_[product.body];
    for (std::size_t i = 0; i < context_.step.ops.size(); i += together) {
      const schedule::TileOp& op = context_.step.ops[i];
      out_[product.body][slot].push_back(
          context_.engine.start(context_.works.store(op.group, op.block, together)));
    }
    context_.step.after.push_back({.kind = Kind::kStore, .body = product.body, .slot = slot});
    slot = (slot + 1) % body.out_slots;
  }

  void push_step() {
    x_.free_slots();
    schedule::TileStep& step = context_.step;
    for (auto* list : {&step.waits, &step.starts, &step.operands, &step.after})
      std::ranges::stable_sort(*list, {}, &TileAction::kind);
    schedule_.steps.push_back(std::move(step));
    step = {};
  }

  void drain() {
    x_.drain(schedule_.drain);
    for (std::size_t body = 0; body < out_.size(); ++body) {
      for (std::size_t i = 0; i < out_[body].size(); ++i) {
        const std::size_t slot = (next_out_[body] + i) % out_[body].size();
        if (out_[body][slot].empty()) continue;
        schedule_.drain.push_back({.kind = Kind::kAwaitStore,
                                   .body = static_cast<int>(body),
                                   .slot = static_cast<int>(slot)});
      }
    }
    std::ranges::stable_sort(schedule_.drain, {}, &TileAction::kind);
  }

  ListContext context_;
  TileChoice choice_;
  XStream x_;
  YStream y_;
  double control_seconds_ = 0;
  TileSchedule schedule_;
  std::vector<std::vector<std::vector<int>>> out_;  // stores out of each body's slots
  std::vector<int> next_out_;
};

}  // namespace

ListScheduled list_schedule(const TileProblem& problem, const TileParameters& parameters) {
  if (parameters.y_ahead <= 0 || parameters.send_ahead <= 0 || parameters.sends_per_step < 1 ||
      parameters.loads_per_step < 1)
    return {std::nullopt, "needs positive sends, loads, y_ahead and send_ahead"};
  const ShapeOrNot shape = shape_of(problem, parameters);
  if (!shape.shape) return {std::nullopt, shape.why_not};
  TilePlan plan{{}, parameters, {}};
  if (shape.shape->num_k_blocks() > 1) {
    StreamScheduled streamed = stream_schedule(problem, parameters, *shape.shape);
    if (!streamed.why_not.empty()) return {std::nullopt, streamed.why_not};
    plan.schedule = std::move(streamed.schedule);
  } else {
    ListScheduler scheduler(problem, parameters, *shape.shape);
    const std::string why_not = scheduler.run();
    if (!why_not.empty()) return {std::nullopt, why_not};
    plan.schedule = scheduler.take();
  }
  const std::int64_t words = most_table_words(plan.schedule);
  const std::int64_t room =
      (problem.machine.chip.smem_bytes - schedule::kReservedSmemBytes) / kWordBytes;
  if (words > room)
    return {std::nullopt,
            cat("takes a table of ", words, " words; SMEM holds ", room, " of a kernel's")};
  plan.times = walk(plan.schedule, problem.machine);
  return {std::move(plan), {}};
}

}  // namespace cmm::sim
