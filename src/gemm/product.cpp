// The large-m driver: k block > pair of panels > tile of rows.
//
// Order and reasons (each was measured on an Ice Lake server core, 4096 x 4096 x 256):
//   - A pair's k block (32 KB as f32) stays in L1 while all tiles pass over it.
//   - Between k blocks the sums of a tile lie in a private buffer of 1536 bytes, not in out: rows
//     of out 16 KB apart share few cache sets (8 %). out is written once and never read.
//   - 16-bit panels are widened once per pair and k block, 1 part in 43 of the work of 43 tiles.
//   - A view of y is packed strip by strip (strip.hpp), the next one in pieces between the tiles of
//     the current one, which prefetch its memory: y is read while tiles compute.
//   - The next panel block and the next block of packed x are prefetched to L2 evenly over the
//     tiles of the current pair (8 % at m = 256, 25 % at m = 64).
#include "gemm/product.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "gemm/output.hpp"

namespace cmm::gemm {
namespace {

constexpr std::int64_t kTileFloats = std::int64_t{kTileRows} * kPairColumns;
constexpr int kPairPanels = kPairColumns / kPanelColumns;
constexpr int kSwigluSides = 2;
constexpr int kMaxPairs = kMaxViewPanels / kPairPanels;
// Of a pair and a tile.
constexpr std::int64_t kMaxSums = std::int64_t{kMaxPanels} / kPairPanels * kMaxTiles;
static_assert(kPairPanels * kMaxSums / kMaxViewTiles / kSwigluSides >= kMinPanels);
// Of a strip, for each of its pairs: 8 KB of y, half of what a tile prefetches. Fewer and larger
// ones burst; with more of them y's lines would be asked for early and lost where its stride is a
// power of two.
constexpr std::int64_t kStripPieces = 4;

// Two neighbouring panels of one side, or one at the end of the range.
struct Pair {
  int side = 0;
  std::int64_t first_panel = 0;
  int num_panels = 0;
  int gate = -1;  // of up: the same pair of the gate
};

// Pairs whose panel blocks are made ready together: those of a strip.
struct Turn {
  int first_pair = 0;
  int num_pairs = 0;
};

// The pairs of a call. Under SwiGLU each turn of the gate is followed by the same pairs of up, so
// that both sums are at hand when the second is complete.
struct Pairs {
  Pair pair[kMaxPairs];
  int count = 0;
  Turn turn[kMaxPairs];
  int num_turns = 0;
};

Pairs list_pairs(const Product& product, ColumnRange columns) {
  Pairs pairs;
  const std::int64_t turn_panels = strip_panels(product.dtype);
  for (std::int64_t first = columns.first_panel; first < columns.last_panel; first += turn_panels) {
    const std::int64_t end = std::min(first + turn_panels, columns.last_panel);
    const int gate = pairs.count;
    for (int s = 0; s < (product.swiglu ? kSwigluSides : 1); ++s) {
      Turn& turn = pairs.turn[pairs.num_turns++];
      turn.first_pair = pairs.count;
      for (std::int64_t p = first; p < end; p += kPairPanels) {
        CMM_DCHECK(pairs.count < kMaxPairs);
        pairs.pair[pairs.count++] = {.side = columns.side + s,
                                     .first_panel = p,
                                     .num_panels = p + 1 < end ? 2 : 1,
                                     .gate = s == 0 ? -1 : gate + turn.num_pairs};
        ++turn.num_pairs;
      }
    }
  }
  return pairs;
}

// A range of steps, and how many bytes of a panel lie before it and in it.
struct Block {
  std::int64_t first_step = 0;
  std::int64_t num_steps = 0;
  std::int64_t panel_offset = 0;
  std::int64_t panel_bytes = 0;
};

Block block_at(const Product& product, std::int64_t first_step) {
  const std::int64_t per_step = product.kernels->type(product.dtype).bf16_pairs ? 2 : 1;
  const std::int64_t steps = num_steps(*product.kernels, product.dtype, product.k);
  Block block;
  block.first_step = first_step;
  block.num_steps = std::min<std::int64_t>(kBlockSteps, steps - first_step);
  block.panel_offset = panel_bytes(product.dtype, first_step * per_step);
  block.panel_bytes = panel_bytes(product.dtype, block.num_steps * per_step);
  return block;
}

const std::byte* packed_block(const RowTile& tile, const Block& block) {
  return tile.packed +
         (block.first_step * tile.chunk_rows + tile.chunk_row * block.num_steps) * kStepBytes;
}

// Memory wanted after the current pair, handed out to its tiles in even parts.
class Prefetch {
 public:
  void add(const std::byte* begin, std::int64_t bytes) {
    if (count_ > 0 && pieces_[count_ - 1].begin + pieces_[count_ - 1].bytes == begin) {
      pieces_[count_ - 1].bytes += bytes;
    } else if (count_ < kMaxPieces) {
      pieces_[count_++] = {begin, bytes};
    }
    total_ += bytes;
  }
  // Called once before the tiles: a part never spans two pieces, which costs up to a part each.
  void divide(std::int64_t num_parts) {
    const std::int64_t even = ceil_div(total_, std::max<std::int64_t>(1, num_parts - count_ + 1));
    part_bytes_ = round_up(even, 64);
  }
  struct Piece {
    const std::byte* begin = nullptr;
    std::int64_t bytes = 0;
  };
  Piece next() {
    if (current_ == count_) return {};
    Piece& piece = pieces_[current_];
    const Piece part = {piece.begin, std::min(part_bytes_, piece.bytes)};
    piece.begin += part.bytes;
    piece.bytes -= part.bytes;
    if (piece.bytes == 0) ++current_;
    return part;
  }

 private:
  static constexpr int kMaxPieces = 8;  // what does not fit is not prefetched
  Piece pieces_[kMaxPieces];
  int count_ = 0;
  int current_ = 0;
  std::int64_t total_ = 0;
  std::int64_t part_bytes_ = 0;
};

// One call of multiply_tiles.
class Call {
 public:
  Call(const Product& product, std::span<const RowTile> tiles, ColumnRange columns,
       Workspace& workspace)
      : product_(product),
        type_(product.kernels->type(product.dtype)),
        tiles_(tiles),
        pairs_(list_pairs(product, columns)),
        accumulators_(workspace.accumulators()),
        widened_(workspace.widened()),
        strips_{workspace.strip(0), workspace.strip(1)} {}

  void run() {
    if (pairs_.num_turns == 0) return;
    const std::int64_t steps = num_steps(*product_.kernels, product_.dtype, product_.k);
    Strip strip = strip_of(pairs_.turn[0], block_at(product_, 0));
    strip.fetch();
    strip.pack({0, strip.num_units()});
    // k = 0 is one block without steps, so that the epilogue of zero sums is stored.
    for (std::int64_t step = 0; step == 0 || step < steps; step += kBlockSteps) {
      const Block block = block_at(product_, step);
      const bool last = step + kBlockSteps >= steps;
      for (int t = 0; t < pairs_.num_turns; ++t) {
        current_strip_ = 1 - current_strip_;
        const int next_turn = t + 1 < pairs_.num_turns ? t + 1 : 0;
        Strip next;
        if (next_turn > 0) {
          next = strip_of(pairs_.turn[next_turn], block);
        } else if (!last) {
          next = strip_of(pairs_.turn[0], block_at(product_, step + kBlockSteps));
        }
        next.fetch_pages(next_turn < (product_.swiglu ? kSwigluSides : 1));
        multiply_turn(pairs_.turn[t], block, last, next);
      }
    }
  }

 private:
  const Side& side_of(const Pair& pair) const {
    return product_.sides[static_cast<std::size_t>(pair.side)];
  }
  const std::byte* panel_block(const Pair& pair, int i, const Block& block) const {
    return side_of(pair).y->panel(pair.first_panel + i) + block.panel_offset;
  }

  // The strip that a turn needs next, to be packed into the scratch that is not in use.
  Strip strip_of(const Turn& turn, const Block& block) const {
    const Pair& first = pairs_.pair[turn.first_pair];
    const Pair& last = pairs_.pair[turn.first_pair + turn.num_pairs - 1];
    if (side_of(first).view == nullptr) return {};
    const std::int64_t per_step = type_.bf16_pairs ? 2 : 1;
    const std::int64_t k0 = block.first_step * per_step;
    return {
        *product_.kernels,
        *side_of(first).view,
        {.k0 = k0,
         .k = std::min(block.num_steps * per_step, product_.k - k0),
         .column = first.first_panel * kPanelColumns,
         .num_panels = static_cast<int>(last.first_panel + last.num_panels - first.first_panel)},
        strips_[1 - current_strip_]};
  }

  // Panel i of a pair of the turn as the tile functions read it.
  const std::byte* ready_block(const Turn& turn, const Pair& pair, int i, const Block& block) {
    if (side_of(pair).view != nullptr) {
      const std::int64_t panel =
          pair.first_panel + i - pairs_.pair[turn.first_pair].first_panel;  // of the strip
      return strips_[current_strip_] + panel * kStripPanelBytes;
    }
    if (type_.widen == nullptr) return panel_block(pair, i, block);
    float* out = widened_ + std::int64_t{i} * kBlockSteps * kPanelColumns;
    type_.widen({panel_block(pair, i, block), block.num_steps, out});  // here a step is a k
    return reinterpret_cast<const std::byte*>(out);
  }

  float* accumulators(int pair, std::size_t tile) const {
    return accumulators_ +
           (pair * static_cast<std::int64_t>(tiles_.size()) + static_cast<std::int64_t>(tile)) *
               kTileFloats;
  }

  Prefetch plan_prefetch(int p, const Block& block, bool last) const {
    Prefetch prefetch;
    const bool last_pair = p + 1 == pairs_.count;
    if (last && last_pair) return prefetch;
    const Block after = last ? block : block_at(product_, block.first_step + kBlockSteps);
    const Pair& next = pairs_.pair[last_pair ? 0 : p + 1];
    const Block& next_block = last_pair ? after : block;
    for (int i = 0; i < next.num_panels && side_of(next).view == nullptr; ++i) {
      prefetch.add(panel_block(next, i, next_block), next_block.panel_bytes);
    }
    if (!last) {
      const Range share = even_part(static_cast<std::int64_t>(tiles_.size()), pairs_.count, p);
      for (std::int64_t t = share.begin; t < share.end; ++t) {
        const RowTile& tile = tiles_[static_cast<std::size_t>(t)];
        prefetch.add(packed_block(tile, after), after.num_steps * tile.rows * kStepBytes);
      }
    }
    prefetch.divide(static_cast<std::int64_t>(tiles_.size()));
    return prefetch;
  }

  // Meanwhile packs `next`, a piece after each tile, which prefetches the piece's memory.
  void multiply_turn(const Turn& turn, const Block& block, bool last, const Strip& next) {
    const std::int64_t num_tiles = static_cast<std::int64_t>(tiles_.size());
    const std::int64_t num_pieces =
        std::min(turn.num_pairs * std::min(num_tiles, kStripPieces), next.num_units());
    std::int64_t piece = 0;
    for (int p = turn.first_pair; p < turn.first_pair + turn.num_pairs; ++p) {
      const Pair& pair = pairs_.pair[p];
      const std::byte* panel[2] = {
          ready_block(turn, pair, 0, block),
          pair.num_panels == 2 ? ready_block(turn, pair, 1, block) : nullptr};
      Prefetch prefetch = plan_prefetch(p, block, last);
      for (std::size_t t = 0; t < tiles_.size(); ++t, ++piece) {
        const RowTile& tile = tiles_[t];
        float* acc = accumulators(p, t);
        const Range units =
            piece < num_pieces ? even_part(next.num_units(), num_pieces, piece) : Range{};
        Strip::Memory wanted = next.memory(units);
        if (units.size() == 0) {
          const Prefetch::Piece part = prefetch.next();
          wanted = {.begin = part.begin, .run_bytes = part.bytes, .num_runs = 1};
        }
        type_.tile[tile.rows]({.x = packed_block(tile, block),
                               .panel0 = panel[0],
                               .panel1 = panel[1],
                               .num_steps = block.num_steps,
                               .acc_in = block.first_step == 0 ? nullptr : acc,
                               .acc_out = acc,
                               .prefetch_l2 = wanted.begin,
                               .prefetch_l2_bytes = wanted.run_bytes,
                               .prefetch_l2_runs = wanted.num_runs,
                               .prefetch_l2_stride = wanted.stride_bytes,
                               .next_acc = acc + kTileFloats});
        next.pack(units);
        if (last) store_tile(p, t);
      }
    }
  }

  void store_tile(int p, std::size_t t) const {
    const Pair& pair = pairs_.pair[p];
    const bool is_gate = product_.swiglu && pair.gate < 0;
    if (is_gate) return;  // stored with the pair of up that follows
    store_output(product_, {.side = product_.swiglu ? pair.side - 1 : pair.side,
                            .row = tiles_[t].out_row,
                            .rows = tiles_[t].rows,
                            .first_panel = pair.first_panel,
                            .num_panels = pair.num_panels,
                            .acc = accumulators(product_.swiglu ? pair.gate : p, t),
                            .acc_up = product_.swiglu ? accumulators(p, t) : nullptr,
                            .acc_stride = kPairColumns});
  }

  const Product& product_;
  const TypeKernels& type_;
  std::span<const RowTile> tiles_;
  Pairs pairs_;
  float* accumulators_;
  float* widened_;
  std::byte* const strips_[2];
  int current_strip_ = 1;  // the one that is multiplied
};

// One tile more than used: the last tile's `next_acc` points at it.
constexpr std::int64_t kAccumulatorBytes =
    (kMaxSums + 1) * kTileFloats * std::int64_t{sizeof(float)};
constexpr std::int64_t kWidenedBytes =
    std::int64_t{kBlockSteps} * kPairColumns * std::int64_t{sizeof(float)};

}  // namespace

Workspace::Workspace()
    : accumulators_(kAccumulatorBytes), widened_(kWidenedBytes), strips_(2 * kStripBytes) {}

std::int64_t Workspace::bytes() { return kAccumulatorBytes + kWidenedBytes + 2 * kStripBytes; }

bool any_view(const Product& product) {
  return std::any_of(product.sides.begin(), product.sides.end(),
                     [](const Side& side) { return side.view != nullptr; });
}

bool any_row_major_view(const Product& product) {
  return std::any_of(product.sides.begin(), product.sides.end(), [](const Side& side) {
    return side.view != nullptr && side.view->col_stride == 1;
  });
}

CallLimits call_limits(const Product& product, std::int64_t num_tiles) {
  const int num_sides = product.swiglu ? kSwigluSides : 1;
  if (!any_view(product)) return {kMaxTiles, kMaxPanels / num_sides};
  const std::int64_t num_calls = std::max<std::int64_t>(1, ceil_div(num_tiles, kMaxViewTiles));
  const std::int64_t tiles = std::max<std::int64_t>(1, ceil_div(num_tiles, num_calls));
  const std::int64_t panels = std::min<std::int64_t>(
      kPairPanels * kMaxSums / tiles, any_row_major_view(product) ? kMaxViewPanels : kMaxPanels);
  return {tiles, panels / num_sides / kMinPanels * kMinPanels};  // whole strips
}

void multiply_tiles(const Product& product, std::span<const RowTile> tiles, ColumnRange columns,
                    Workspace& workspace) {
  CMM_DCHECK(ceil_div(columns.last_panel - columns.first_panel, kPairPanels) *
                 (product.swiglu ? kSwigluSides : 1) * static_cast<std::int64_t>(tiles.size()) <=
             kMaxSums);
  Call(product, tiles, columns, workspace).run();
}

}  // namespace cmm::gemm
