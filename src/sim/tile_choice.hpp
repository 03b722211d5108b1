// Which product a step makes of what is there.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "base/integers.hpp"
#include "schedule/tiles.hpp"
#include "sim/tile_plan.hpp"

namespace cmm::sim {

// A group counts all groups of all hops in the order they arrive: hop * num_groups + group.
struct TilePair {
  int group = 0;
  int block = 0;
};

// The largest body all of whose pairs are there; of equals the first in the order of the plan,
// those first that lie in a tile of the largest body that smaller ones have broken into: a tile
// that is whole is kept for the largest body.
class TileChoice {
 public:
  TileChoice(const schedule::TileShape& shape, const TileParameters& parameters);

  struct Product {
    int body = 0;
    std::vector<TilePair> pairs;  // as TileStep::ops
  };
  // Older groups come first anyway; to look at all that wait costs time and finds nothing better.
  static constexpr int kMostGroups = 64;
  // Of all loads of blocks, those that are there; none outside of a range is.
  struct Blocks {
    const std::vector<char>& is_there;
    Range range;
  };
  // Of these groups, in ascending order, and the blocks that are there in the pass of each group.
  std::optional<Product> choose(const std::vector<int>& groups, const Blocks& there) const;
  void mark_done(const Product& product);

  int pass_of(int group) const { return group / groups_of_pass_; }
  // Of all blocks of all passes, the one that this pair needs.
  int load_of(TilePair pair) const { return pass_of(pair.group) * num_blocks_ + pair.block; }
  int num_loads() const { return num_passes_ * num_blocks_; }
  int pairs_of_load(int load) const { return pairs_of_pass_[load / num_blocks_]; }
  int pairs_left(int group) const { return left_of_group_[group]; }
  std::int64_t num_left() const { return num_left_; }

 private:
  struct Body {
    int index = 0;
    int groups = 1;
    int blocks = 1;
    bool free = false;
    std::vector<int> tiles;  // first block of each tile of a rectangle
  };
  // Pairs are taken in ascending order of it.
  double rank(TilePair pair, bool broken) const;
  bool is_broken(TilePair pair) const;
  bool is_open(TilePair pair, const Blocks& there) const {
    return !done_[at(pair)] && there.is_there[load_of(pair)];
  }
  // Of the group's pass.
  Range blocks_there(int group, const Blocks& there) const {
    const std::int64_t first = load_of({group, 0});
    return {std::clamp<std::int64_t>(there.range.begin - first, 0, num_blocks_),
            std::clamp<std::int64_t>(there.range.end - first, 0, num_blocks_)};
  }
  std::size_t at(TilePair pair) const {
    return static_cast<std::size_t>(pair.group) * num_blocks_ + pair.block;
  }
  std::size_t large_tile(TilePair pair) const {
    return static_cast<std::size_t>(pair.group / bodies_.front().groups) * num_blocks_ +
           tile_of_block_[pair.block];
  }
  std::optional<Product> choose_free(const Body& body, const std::vector<int>& groups,
                                     const Blocks& there) const;
  std::optional<Product> choose_rectangle(const Body& body, const std::vector<int>& groups,
                                          const Blocks& there) const;

  TileOrder order_;
  int num_groups_;
  int num_blocks_;
  int groups_of_pass_;  // the last may have fewer; a rectangle lies within one
  int num_passes_;
  std::vector<Body> bodies_;        // the largest first
  std::vector<int> tile_of_block_;  // first block of its tile of the largest body; -1: in none
  std::vector<char> done_;          // [group][block]
  std::vector<char> broken_;        // [tile of groups][first block of the tile]
  std::vector<int> left_of_group_;
  std::vector<int> pairs_of_pass_;
  std::int64_t num_left_;
};

}  // namespace cmm::sim
