// A *set* is groups that follow each other in the order they arrive. A product is of a set and one
// block of y; its k blocks are as many steps, and the sum stays in VMEM from one to the next:
//
//   step       0       1       2       3       4          K = 2 k blocks
//   product    set 0, block 0  set 0, block 1  set 1, block 1
//   k block    0       1       0       1       0
//   loads for  1 2     3       4       5       6          while the step multiplies
//
// x comes through HBM, the own shard first, and goes on from there by the clock of the copy engine
// as it lands (x_stream.hpp). Sets go back and forth over the blocks, or blocks over the sets, so
// that what was loaded last is used again where there is room for it.
#include "sim/stream_schedule.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "sim/list_context.hpp"
#include "sim/operand_slots.hpp"
#include "sim/out_slots.hpp"
#include "sim/x_stream.hpp"

namespace cmm::sim {
namespace {

using schedule::kNone;
using schedule::TileAction;
using schedule::TileBody;
using schedule::TileSchedule;
using schedule::TileShape;
using Kind = TileAction::Kind;

struct Product {
  int set = 0;
  int block = 0;
};

// All sets by all blocks; every other line backwards.
std::vector<Product> products_in_order(int num_sets, int num_blocks, TileOrder order) {
  const bool x_major = order == TileOrder::kXMajor;
  const int lines = x_major ? num_sets : num_blocks;
  const int length = x_major ? num_blocks : num_sets;
  std::vector<Product> products;
  for (int line = 0; line < lines; ++line) {
    for (int i = 0; i < length; ++i) {
      const int at = line % 2 == 0 ? i : length - 1 - i;
      products.push_back(x_major ? Product{line, at} : Product{at, line});
    }
  }
  return products;
}

class StreamScheduler {
 public:
  StreamScheduler(const TileProblem& problem, const TileParameters& parameters,
                  const TileShape& shape)
      : context_(problem, parameters, shape),
        choice_(shape, parameters),
        x_(context_, choice_),
        out_(context_),
        num_groups_(static_cast<int>(shape.num_devices * shape.num_groups())),
        set_groups_(shape.bodies[0].groups),
        num_k_blocks_(static_cast<int>(shape.num_k_blocks())),
        products_(products_in_order(num_sets(), shape.num_blocks(), parameters.order)),
        x_slots_(shape.x_slots / set_groups_, parts([](Product p) { return p.set; }),
                 num_sets() * num_k_blocks_),
        y_slots_(shape.y_slots, parts([](Product p) { return p.block; }),
                 shape.num_blocks() * num_k_blocks_),
        x_loads_(shape.x_slots),
        y_loads_(shape.y_slots) {
    context_.estimate_control(set_groups_, 1);
  }

  std::string run() {
    for (const int groups : {set_groups_, groups_of(num_sets() - 1)}) {
      if (body_of(groups) == kNone)
        return cat("cuts k and has no body of ", groups, " groups and one block, which the ",
                   num_groups_, " groups of all devices need");
    }
    while (now_ < num_steps()) {
      x_.look_around();
      x_.await_what_has_come();
      const double seconds = seconds_of_step();
      load(seconds);
      x_.send(seconds);
      if (!context_.schedule.steps.empty()) x_.store_own();
      if (x_slots_.slot_of_step(now_) != kNone && y_slots_.slot_of_step(now_) != kNone)
        multiply(seconds);
      else if (!idle())
        return cat("gets stuck in step ", now_, " of ", num_steps());
    }
    while (x_.has_own_to_store()) {
      x_.store_own();
      context_.push_step();
    }
    drain();
    return {};
  }

  TileSchedule take() { return std::move(context_.schedule); }

 private:
  int num_sets() const { return static_cast<int>(ceil_div(num_groups_, set_groups_)); }
  int first_group(int set) const { return set * set_groups_; }
  int groups_of(int set) const { return std::min(set_groups_, num_groups_ - first_group(set)); }
  int num_steps() const { return static_cast<int>(products_.size()) * num_k_blocks_; }
  Product product() const { return products_[now_ / num_k_blocks_]; }
  int k_block() const { return now_ % num_k_blocks_; }
  int group_in_hop(int group) const {
    return group % static_cast<int>(context_.shape.num_groups());
  }
  int hop_of(int group) const { return group / static_cast<int>(context_.shape.num_groups()); }

  int body_of(int groups) const {
    const auto& bodies = context_.shape.bodies;
    const auto body = std::ranges::find_if(
        bodies, [groups](const TileBody& it) { return it.groups == groups && it.blocks == 1; });
    return body == bodies.end() ? kNone : static_cast<int>(body - bodies.begin());
  }

  // What each step reads of an operand: k blocks of a set or block are numbered one after another.
  template <class Of>
  std::vector<int> parts(const Of& of) const {
    std::vector<int> all;
    for (const Product& product : products_) {
      for (int k_block = 0; k_block < num_k_blocks_; ++k_block)
        all.push_back(of(product) * num_k_blocks_ + k_block);
    }
    return all;
  }

  double seconds_of_step() const {
    return context_.step_seconds(body_of(groups_of(product().set)));
  }

  // What this step and the next read, and more where HBM would have nothing to move.
  void load(double seconds) {
    const tpu::Chip& chip = context_.machine.chip;
    const double wanted =
        chip.hbm_bytes_per_second * (seconds + chip.copy_seconds) * context_.parameters.y_ahead;
    for (int i = 0; i < context_.parameters.loads_per_step; ++i) {
      const int last = bytes_in_flight() < wanted ? num_steps() : now_ + 1;
      if (const auto next = x_slots_.next(now_, last)) load_x(*next);
      if (const auto next = y_slots_.next(now_, last)) load_y(*next);
    }
  }
  double bytes_in_flight() const {
    double bytes = 0;
    for (const auto* loads : {&x_loads_, &y_loads_}) {
      for (const SlotLoad& load : *loads)
        if (!load.awaited) bytes += context_.bytes_left(load.copies);
    }
    return bytes;
  }

  void load_x(const OperandSlots::Load& load) {
    const int set = load.part / num_k_blocks_;
    const int last_group = first_group(set) + groups_of(set) - 1;
    if (!x_.may_load(last_group)) return;
    x_.await_landed(last_group);
    x_slots_.is_loaded(load);
    for (int i = 0; i < groups_of(set); ++i) {
      const int group = first_group(set) + i;
      const int slot = load.slot * set_groups_ + i;
      const CopyWork work = context_.works.load_x(group_in_hop(group), context_.engine.now());
      x_loads_[slot] = {{context_.engine.start(work)}, slot};
      context_.step.starts.push_back({.kind = Kind::kLoadX,
                                      .hop = hop_of(group),
                                      .group = group_in_hop(group),
                                      .k_block = load.part % num_k_blocks_,
                                      .slot = slot});
    }
  }

  void load_y(const OperandSlots::Load& load) {
    y_slots_.is_loaded(load);
    const int block = load.part / num_k_blocks_;
    SlotLoad& copies = y_loads_[load.slot];
    copies = {{}, load.slot};
    for (int part = 0; part < context_.shape.y_parts; ++part)
      copies.copies.push_back(context_.engine.start(context_.works.load_y_part(block)));
    context_.step.starts.push_back({.kind = Kind::kLoadY,
                                    .block = block,
                                    .k_block = load.part % num_k_blocks_,
                                    .slot = load.slot});
  }

  void await(SlotLoad& load, Kind kind) {
    if (load.awaited) return;
    load.awaited = true;
    for (const int copy : load.copies) context_.engine.wait(copy);
    context_.step.operands.push_back({.kind = kind, .slot = load.slot});
  }

  void multiply(double seconds) {
    const auto [set, block] = product();
    const int body = body_of(groups_of(set));
    if (k_block() == 0) out_.await_next(body);
    schedule::TileStep& step = context_.step;
    step.body = body;
    step.out_slot = out_.next(body);
    step.k_block = k_block();
    const int y_slot = y_slots_.slot_of_step(now_);
    for (int i = 0; i < groups_of(set); ++i) {
      const int group = first_group(set) + i;
      const int x_slot = x_slots_.slot_of_step(now_) * set_groups_ + i;
      await(x_loads_[x_slot], Kind::kAwaitX);
      step.ops.push_back({.hop = hop_of(group),
                          .group = group_in_hop(group),
                          .block = block,
                          .x_slot = x_slot,
                          .y_slot = y_slot});
    }
    await(y_loads_[y_slot], Kind::kAwaitY);
    context_.engine.advance_to(context_.engine.now() + seconds);
    if (k_block() == num_k_blocks_ - 1) out_.store(body);
    ++now_;
    context_.push_step();
  }

  // Rows are missing: waits for the next that come, or for what lets others start.
  bool idle() {
    x_.remember();
    while (!x_.await_new()) {
      if (!context_.engine.advance_to_next_end()) return false;
    }
    const schedule::TileStep& step = context_.step;
    if (!step.waits.empty() || !step.starts.empty() || !step.operands.empty()) context_.push_step();
    return true;
  }

  void drain() {
    x_.drain(context_.schedule.drain);
    out_.drain(OutSlots::DrainOrder::kBySlot, context_.schedule.drain);
    ListContext::sort(context_.schedule.drain);
  }

  ListContext context_;
  TileChoice choice_;
  XStream x_;
  OutSlots out_;
  int num_groups_;  // of all hops
  int set_groups_;  // the last set may have fewer
  int num_k_blocks_;
  std::vector<Product> products_;
  OperandSlots x_slots_;  // each a set's, side by side
  OperandSlots y_slots_;
  std::vector<SlotLoad> x_loads_, y_loads_;  // the last into each slot
  int now_ = 0;                              // the step whose product is next
};

}  // namespace

StreamScheduled stream_schedule(const TileProblem& problem, const TileParameters& parameters,
                                const TileShape& shape) {
  StreamScheduler scheduler(problem, parameters, shape);
  std::string why_not = scheduler.run();
  return {scheduler.take(), std::move(why_not)};
}

}  // namespace cmm::sim
