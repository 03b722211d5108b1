#include "schedule/reference_steps.hpp"

namespace cmm::schedule {
namespace {

using Kind = ReferenceAction::Kind;

class ReferencePoint {
 public:
  ReferencePoint(const ReferenceShape& shape, int number)
      : num_devices_(shape.num_devices),
        grid_k_(static_cast<int>(shape.grid_k)),
        points_(static_cast<int>(shape.grid_n) * grid_k_),
        number_(number),
        outer_(number / points_),
        block_(number % points_ / grid_k_),
        k_block_(number % grid_k_) {}

  std::vector<ReferenceAction> actions() const {
    std::vector<ReferenceAction> actions;
    const auto add = [&](bool holds, const ReferenceAction& action) {
      if (holds) actions.push_back(action);
    };
    const bool sends = outer_ < num_devices_ - 1;
    const bool loads_x = outer_ < num_devices_ && block_ == 0;
    const bool loads_y = outer_ == 0;
    const int tile = tile_of(number_ - 1), num_tiles = num_devices_ * points_ / grid_k_;
    const ReferenceAction x = {
        .kind = Kind::kLoadX, .hop = outer_, .k_block = k_block_, .slot = outer_ % 2};

    add(number_ == 0, {.kind = Kind::kEnter});
    add(sends && number_ % points_ == 0, {.kind = Kind::kSend, .hop = outer_});
    add(loads_x, x);
    add(loads_y, {.kind = Kind::kLoadY, .block = block_, .k_block = k_block_});
    // A tile is multiplied at the grid_k points from tile * grid_k + 1 on. Its store starts at the
    // point after them, and is awaited at the last before those of tile + 2, which has its slot.
    const int stored = tile - 1, awaited = number_ / grid_k_ - 2;
    add((number_ - 1) % grid_k_ == 0 && stored >= 0 && stored < num_tiles,
        stored_tile(Kind::kStore, stored));
    add(number_ >= 1 && tile < num_tiles, {.kind = Kind::kMultiply,
                                           .hop = hop_of(tile),
                                           .block = block_of(tile),
                                           .k_block = (number_ - 1) % grid_k_,
                                           .slot = hop_of(tile) % 2,
                                           .out_slot = out_slot_of(tile)});
    add(number_ % grid_k_ == 0 && awaited >= 0 && awaited < num_tiles,
        stored_tile(Kind::kAwaitStore, awaited));
    add(loads_y, {.kind = Kind::kAwaitY, .block = block_, .k_block = k_block_});
    ReferenceAction await_x = x;
    await_x.kind = Kind::kAwaitX;
    add(loads_x, await_x);
    add(sends && number_ % points_ == points_ - 1, {.kind = Kind::kAwaitHop, .hop = outer_});
    return actions;
  }

 private:
  // Tiles are numbered in the order in which they are multiplied.
  int tile_of(int product) const { return product < 0 ? -1 : product / grid_k_; }
  int hop_of(int tile) const { return tile * grid_k_ / points_; }
  int block_of(int tile) const { return tile * grid_k_ % points_ / grid_k_; }
  static int out_slot_of(int tile) { return (tile + 1) % 2; }

  ReferenceAction stored_tile(Kind kind, int tile) const {
    return {.kind = kind, .hop = hop_of(tile), .block = block_of(tile), .slot = out_slot_of(tile)};
  }

  const int num_devices_, grid_k_;
  const int points_;  // of one outer step
  const int number_, outer_, block_, k_block_;
};

}  // namespace

std::vector<std::vector<ReferenceAction>> reference_steps(const ReferenceShape& shape) {
  const auto num_points = static_cast<int>((shape.num_devices + 2) * shape.grid_n * shape.grid_k);
  std::vector<std::vector<ReferenceAction>> steps;
  for (int number = 0; number < num_points; ++number) {
    steps.push_back(ReferencePoint(shape, number).actions());
  }
  return steps;
}

}  // namespace cmm::schedule
