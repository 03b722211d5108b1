#include "sim/tile_choice.hpp"

#include <algorithm>

namespace cmm::sim {
namespace {

using schedule::TileBody;
using schedule::TileShape;

// The first blocks of runs of `blocks` blocks of one right side.
std::vector<int> tiles_of(const TileShape& shape, int blocks) {
  std::vector<int> tiles;
  int first = 0;
  for (const std::int64_t columns : shape.cols) {
    const int count = static_cast<int>(ceil_div(columns, shape.block_cols));
    for (int block = 0; block + blocks <= count; block += blocks) tiles.push_back(first + block);
    first += count;
  }
  return tiles;
}

int groups_of_pass(const TileShape& shape, int passes) {
  int side_by_side = 1;
  for (const TileBody& body : shape.bodies) side_by_side = std::max(side_by_side, body.groups);
  const std::int64_t groups = shape.num_devices * shape.num_groups();
  return static_cast<int>(round_up(ceil_div(groups, passes), side_by_side));
}

// Beyond any order of pairs.
constexpr double kWholeTile = 1e12;

}  // namespace

TileChoice::TileChoice(const TileShape& shape, const TileParameters& parameters)
    : order_(parameters.order),
      num_groups_(static_cast<int>(shape.num_devices * shape.num_groups())),
      num_blocks_(shape.num_blocks()),
      groups_of_pass_(groups_of_pass(shape, parameters.passes)),
      num_passes_(static_cast<int>(ceil_div(num_groups_, groups_of_pass_))),
      tile_of_block_(num_blocks_, -1),
      done_(static_cast<std::size_t>(num_groups_) * num_blocks_),
      left_of_group_(num_groups_, num_blocks_),
      pairs_of_pass_(num_passes_),
      num_left_(static_cast<std::int64_t>(num_groups_) * num_blocks_) {
  for (std::size_t i = 0; i < shape.bodies.size(); ++i) {
    const TileBody& body = shape.bodies[i];
    bodies_.push_back(
        {static_cast<int>(i), body.groups, body.blocks, body.free, tiles_of(shape, body.blocks)});
  }
  std::ranges::stable_sort(bodies_, std::greater<>(),
                           [](const Body& body) { return body.groups * body.blocks; });
  const Body& largest = bodies_.front();
  for (const int first : largest.tiles)
    std::fill_n(tile_of_block_.begin() + first, largest.blocks, first);
  broken_.resize(static_cast<std::size_t>(num_groups_ / largest.groups + 1) * num_blocks_);
  for (int group = 0; group < num_groups_; ++group) ++pairs_of_pass_[pass_of(group)];
}

bool TileChoice::is_broken(TilePair pair) const {
  const int groups = bodies_.front().groups;
  const bool at_edge =
      tile_of_block_[pair.block] < 0 || (pair.group / groups + 1) * groups > num_groups_;
  return at_edge || broken_[large_tile(pair)];
}

double TileChoice::rank(TilePair pair, bool broken) const {
  const double order = order_ == TileOrder::kXMajor
                           ? static_cast<double>(pair.group) * num_blocks_ + pair.block
                           : static_cast<double>(load_of(pair)) * num_groups_ + pair.group;
  return broken ? order : order + kWholeTile;
}

std::optional<TileChoice::Product> TileChoice::choose(const std::vector<int>& groups,
                                                      const Blocks& there) const {
  for (const Body& body : bodies_) {
    std::optional<Product> product =
        body.free ? choose_free(body, groups, there) : choose_rectangle(body, groups, there);
    if (product) return product;
  }
  return std::nullopt;
}

std::optional<TileChoice::Product> TileChoice::choose_free(const Body& body,
                                                           const std::vector<int>& groups,
                                                           const Blocks& there) const {
  struct Ranked {
    double rank = 0;
    TilePair pair;
  };
  std::vector<Ranked> open;
  for (const int group : groups) {
    const Range blocks = blocks_there(group, there);
    for (int block = static_cast<int>(blocks.begin); block < blocks.end; ++block) {
      const TilePair pair{group, block};
      if (is_open(pair, there)) open.push_back({rank(pair, is_broken(pair)), pair});
    }
  }
  if (std::ssize(open) < body.blocks) return std::nullopt;
  std::ranges::partial_sort(open, open.begin() + body.blocks, {}, &Ranked::rank);
  Product product{body.index, {}};
  for (int i = 0; i < body.blocks; ++i) product.pairs.push_back(open[i].pair);
  return product;
}

std::optional<TileChoice::Product> TileChoice::choose_rectangle(const Body& body,
                                                                const std::vector<int>& groups,
                                                                const Blocks& there) const {
  const bool is_largest = body.index == bodies_.front().index;
  const auto all_open = [&](int first_group, int first_block) {
    for (int group = first_group; group < first_group + body.groups; ++group) {
      for (int block = first_block; block < first_block + body.blocks; ++block) {
        if (!is_open({group, block}, there)) return false;
      }
    }
    return true;
  };
  double best = 0;
  std::optional<TilePair> first;
  for (std::size_t i = 0; i + body.groups <= groups.size(); ++i) {
    const int group = groups[i];
    const int last = group + body.groups - 1;
    const bool aligned = group % body.groups == 0;
    if (!aligned || groups[i + body.groups - 1] != last || pass_of(group) != pass_of(last))
      continue;
    const Range blocks = blocks_there(group, there);
    for (auto tile = std::ranges::lower_bound(body.tiles, blocks.begin);
         tile != body.tiles.end() && *tile < blocks.end; ++tile) {
      const int block = *tile;
      const TilePair pair{group, block};
      if (!is_open(pair, there)) continue;
      const double here = rank(pair, is_largest || is_broken(pair));
      if ((first && here >= best) || !all_open(group, block)) continue;
      best = here;
      first = pair;
    }
  }
  if (!first) return std::nullopt;
  Product product{body.index, {}};
  for (int group = first->group; group < first->group + body.groups; ++group) {
    for (int block = first->block; block < first->block + body.blocks; ++block)
      product.pairs.push_back({group, block});
  }
  return product;
}

void TileChoice::mark_done(const Product& product) {
  for (const TilePair pair : product.pairs) {
    done_[at(pair)] = 1;
    if (tile_of_block_[pair.block] >= 0) broken_[large_tile(pair)] = 1;
    --left_of_group_[pair.group];
    --num_left_;
  }
}

}  // namespace cmm::sim
