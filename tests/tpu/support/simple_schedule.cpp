#include "tpu/support/simple_schedule.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace cmm::test {
namespace {

using schedule::kSides;
using schedule::Side;
using schedule::TileAction;
using schedule::TileBody;
using schedule::TileOp;
using schedule::TileSchedule;
using schedule::TileShape;
using schedule::TileStep;
using schedule::XHome;
using Kind = TileAction::Kind;

class Scheduler {
 public:
  explicit Scheduler(const TileShape& shape)
      : shape_(shape),
        groups_per_hop_(static_cast<int>(shape.num_groups())),
        num_groups_(shape.num_devices * groups_per_hop_),
        y_(static_cast<std::size_t>(shape.y_slots), {-1, -1}),
        storing_x_(static_cast<std::size_t>(shape.x_slots), false) {
    result_.shape = shape;
    for (const TileBody& body : shape.bodies) {
      storing_.emplace_back(static_cast<std::size_t>(body.out_slots), false);
      next_out_slot_.push_back(0);
    }
  }

  TileSchedule make() {
    const TileBody& last = shape_.bodies.back();
    const int chunk = last.free ? std::min(2, num_groups_) : last.groups;
    for (int first = 0; first < num_groups_; first += chunk) {
      const int end = std::min(num_groups_, first + chunk);
      for (int group = first; group < end; ++group) {
        // What arrives at a hop has been sent in an earlier step.
        if (group > first && group % groups_per_hop_ == 0) close_step();
        bring(group);
      }
      close_step();
      last.free ? multiply_pairs(first, end) : multiply_rectangles(first, end);
      free_slots(first, end);
    }
    for (const Side side : kSides) {
      while (in_flight_[at(side)] > 0) await_departure(result_.drain, side);
    }
    for (int body = 0; body < static_cast<int>(storing_.size()); ++body) {
      for (int slot = 0; slot < shape_.bodies[static_cast<std::size_t>(body)].out_slots; ++slot) {
        await_store(result_.drain, body, slot);
      }
    }
    for (int slot = 0; slot < shape_.x_slots; ++slot) await_store_x(result_.drain, slot);
    sort(result_.drain);
    return std::move(result_);
  }

 private:
  static std::size_t at(Side side) { return static_cast<std::size_t>(side); }
  static void sort(std::vector<TileAction>& actions) {
    std::stable_sort(actions.begin(), actions.end(),
                     [](const TileAction& a, const TileAction& b) { return a.kind < b.kind; });
  }
  // Actions of the open step were gathered in any order.
  void close_step() {
    for (auto* actions : {&step_.waits, &step_.starts, &step_.operands, &step_.after}) {
      sort(*actions);
    }
    sends_in_step_ = {0, 0};
    result_.steps.push_back(std::exchange(step_, {}));
  }

  int hop(int group) const { return group / groups_per_hop_; }
  int slot_of(int group) const { return group % shape_.x_slots; }
  bool in_vmem() const { return shape_.x_home == XHome::kVmem; }

  // Groups are numbered by hop, then within the hop.
  void bring(int group) {
    const int hop_of = hop(group), in_hop = group % groups_per_hop_;
    if (hop_of == 0) {
      if (in_vmem()) load_x(group, slot_of(group), 0);
      if (!in_vmem() && shape_.gathered) store_x(step_.starts, group, in_hop % shape_.x_slots);
    }
    for (const Side side : kSides) {
      const Range pieces = shape_.group_pieces(side, in_hop);
      for (std::int64_t piece = pieces.begin; piece < pieces.end; ++piece) {
        if (hop_of > 0) {
          step_.waits.push_back({.kind = Kind::kAwaitArrival,
                                 .side = side,
                                 .hop = hop_of,
                                 .piece = static_cast<int>(piece)});
        }
      }
    }
    if (hop_of + 1 < shape_.num_devices) send(group);
    if (in_vmem() && shape_.gathered) store_x_once_here(group);
  }

  void send(int group) {
    const int in_hop = group % groups_per_hop_, target = group + groups_per_hop_;
    for (const Side side : kSides) {
      const Range pieces = shape_.group_pieces(side, in_hop);
      for (std::int64_t piece = pieces.begin; piece < pieces.end; ++piece) {
        // A departure that is awaited must have been started in an earlier step.
        if (sends_in_step_[at(side)] == shape_.departures) close_step();
        if (!std::exchange(entered_, true)) step_.waits.push_back({.kind = Kind::kAwaitEntry});
        if (in_flight_[at(side)] == shape_.departures) await_departure(step_.waits, side);
        if (in_vmem() && piece == pieces.begin && target >= shape_.x_slots) {
          step_.waits.push_back({.kind = Kind::kAwaitCredit, .side = side});
        }
        step_.starts.push_back({.kind = Kind::kSend,
                                .side = side,
                                .hop = hop(group),
                                .piece = static_cast<int>(piece),
                                .slot = in_vmem() ? slot_of(group) : 0,
                                .to_slot = in_vmem() ? slot_of(target) : 0});
        ++in_flight_[at(side)];
        ++sends_in_step_[at(side)];
      }
    }
  }

  void await_departure(std::vector<TileAction>& list, Side side) {
    list.push_back({.kind = Kind::kAwaitDeparture, .side = side});
    --in_flight_[at(side)];
  }
  void await_store(std::vector<TileAction>& list, int body, int slot) {
    if (!std::exchange(storing(body, slot), false)) return;
    list.push_back({.kind = Kind::kAwaitStore, .body = body, .slot = slot});
  }
  char& storing(int body, int slot) {
    return storing_[static_cast<std::size_t>(body)][static_cast<std::size_t>(slot)];
  }
  void await_store_x(std::vector<TileAction>& list, int slot) {
    if (!std::exchange(storing_x_[static_cast<std::size_t>(slot)], false)) return;
    list.push_back({.kind = Kind::kAwaitStoreX, .slot = slot});
  }

  void load_x(int group, int slot, int k_block) {
    if (in_vmem()) await_store_x(step_.waits, slot);
    step_.starts.push_back({.kind = Kind::kLoadX,
                            .hop = hop(group),
                            .group = group % groups_per_hop_,
                            .k_block = k_block,
                            .slot = slot});
    step_.operands.push_back({.kind = Kind::kAwaitX, .slot = slot});
  }
  void store_x(std::vector<TileAction>& list, int group, int slot) {
    if (storing_x_[static_cast<std::size_t>(slot)]) {
      close_step();
      await_store_x(step_.waits, slot);
    }
    list.push_back(
        {.kind = Kind::kStoreX, .hop = hop(group), .group = group % groups_per_hop_, .slot = slot});
    storing_x_[static_cast<std::size_t>(slot)] = true;
  }
  void store_x_once_here(int group) { store_x(step_.after, group, slot_of(group)); }

  // Pairs of a group and a block, block by block, so that a step has several groups.
  void multiply_pairs(int first, int end) {
    std::vector<std::pair<int, int>> pairs;
    for (int block = 0; block < shape_.num_blocks(); ++block) {
      for (int group = first; group < end; ++group) pairs.emplace_back(group, block);
    }
    const auto most = static_cast<std::size_t>(shape_.bodies.back().blocks);
    const int last_body = static_cast<int>(shape_.bodies.size()) - 1;
    std::size_t i = 0;
    for (; i + most <= pairs.size(); i += most) {
      multiply(last_body, {pairs.begin() + static_cast<std::ptrdiff_t>(i),
                           pairs.begin() + static_cast<std::ptrdiff_t>(i + most)});
    }
    for (; i < pairs.size(); ++i) multiply(0, {pairs[i]});
  }

  void multiply_rectangles(int first, int end) {
    const int last_body = static_cast<int>(shape_.bodies.size()) - 1;
    const TileBody& body = shape_.bodies.back();
    for (int block = 0; block < shape_.num_blocks();) {
      const bool fits =
          end - first == body.groups && block + body.blocks <= shape_.num_blocks() &&
          shape_.right_side_of(block) == shape_.right_side_of(block + body.blocks - 1);
      const int blocks = fits ? body.blocks : 1;
      std::vector<std::pair<int, int>> pairs;
      for (int group = first; group < end; ++group) {
        for (int i = 0; i < blocks; ++i) pairs.emplace_back(group, block + i);
        if (!fits) multiply(0, std::exchange(pairs, {}));
      }
      if (fits) multiply(last_body, pairs);
      block += blocks;
    }
  }

  void multiply(int body, const std::vector<std::pair<int, int>>& pairs) {
    const auto number = static_cast<std::size_t>(body);
    const int out_slot = next_out_slot_[number];
    next_out_slot_[number] = (out_slot + 1) % shape_.bodies[number].out_slots;
    const int num_k_blocks = static_cast<int>(shape_.num_k_blocks());
    for (int k_block = 0; k_block < num_k_blocks; ++k_block) {
      if (k_block == 0) await_store(step_.waits, body, out_slot);
      std::vector<int> groups, blocks;
      for (const auto& [group, block] : pairs) {
        if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
        if (std::find(blocks.begin(), blocks.end(), block) == blocks.end()) blocks.push_back(block);
      }
      const int first_slot = in_vmem() ? 0 : load_groups(groups, k_block);
      load_blocks(blocks, k_block);
      step_.body = body;
      step_.out_slot = out_slot;
      step_.k_block = k_block;
      for (const auto& [group, block] : pairs) {
        const auto index = std::find(groups.begin(), groups.end(), group) - groups.begin();
        step_.ops.push_back(
            {.hop = hop(group),
             .group = group % groups_per_hop_,
             .block = block,
             .x_slot = in_vmem() ? slot_of(group) : first_slot + static_cast<int>(index),
             .y_slot = slot_with({block, k_block})});
      }
      if (k_block + 1 == num_k_blocks) {
        step_.after.push_back({.kind = Kind::kStore, .body = body, .slot = out_slot});
        storing(body, out_slot) = true;
      }
      close_step();
    }
  }

  // Into slots side by side, not those of the step before where there are others.
  int load_groups(const std::vector<int>& groups, int k_block) {
    const int count = static_cast<int>(groups.size());
    next_x_slot_ = next_x_slot_ + 2 * count <= shape_.x_slots ? next_x_slot_ + count : 0;
    for (int i = 0; i < count; ++i) {
      load_x(groups[static_cast<std::size_t>(i)], next_x_slot_ + i, k_block);
    }
    return next_x_slot_;
  }

  int slot_with(std::pair<int, int> block) const {
    return static_cast<int>(std::find(y_.begin(), y_.end(), block) - y_.begin());
  }
  void load_blocks(const std::vector<int>& blocks, int k_block) {
    const auto is_needed = [&](std::pair<int, int> other) {
      return other.second == k_block &&
             std::find(blocks.begin(), blocks.end(), other.first) != blocks.end();
    };
    for (const int block : blocks) {
      if (slot_with({block, k_block}) < shape_.y_slots) continue;
      while (is_needed(y_[static_cast<std::size_t>(next_y_slot_)])) {
        next_y_slot_ = (next_y_slot_ + 1) % shape_.y_slots;
      }
      y_[static_cast<std::size_t>(next_y_slot_)] = {block, k_block};
      step_.starts.push_back(
          {.kind = Kind::kLoadY, .block = block, .k_block = k_block, .slot = next_y_slot_});
      step_.operands.push_back({.kind = Kind::kAwaitY, .slot = next_y_slot_});
      next_y_slot_ = (next_y_slot_ + 1) % shape_.y_slots;
    }
  }

  // Slots of groups that are multiplied go to later groups; those that a neighbour fills by credit.
  void free_slots(int first, int end) {
    if (!in_vmem() || shape_.x_slots >= num_groups_) return;
    for (const Side side : kSides) {
      while (in_flight_[at(side)] > 0) await_departure(step_.waits, side);
    }
    for (int group = first; group < end; ++group) {
      await_store_x(step_.waits, slot_of(group));
      const int next = group + shape_.x_slots;
      if (next >= num_groups_ || hop(next) == 0) continue;
      for (const Side side : kSides) {
        if (shape_.group_pieces(side, next % groups_per_hop_).size() == 0) continue;
        step_.after.push_back({.kind = Kind::kGrant, .side = side});
      }
    }
    close_step();
  }

  const TileShape& shape_;
  const int groups_per_hop_;
  const int num_groups_;
  TileSchedule result_;
  TileStep step_;
  bool entered_ = false;
  std::array<int, 2> in_flight_ = {0, 0};
  std::array<int, 2> sends_in_step_ = {0, 0};
  std::vector<std::pair<int, int>> y_;  // block and k block in each slot
  int next_y_slot_ = 0, next_x_slot_ = 0;
  std::vector<std::vector<char>> storing_;  // [body][slot]
  std::vector<int> next_out_slot_;
  std::vector<char> storing_x_;
};

}  // namespace

TileSchedule simple_schedule(const TileShape& shape) { return Scheduler(shape).make(); }

}  // namespace cmm::test
