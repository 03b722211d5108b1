// What searches have found, kept in data/tpu_tiles.txt, and the reference kernel's block sizes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/tile_plan.hpp"

namespace cmm::sim {

// One line: "v6e 8 bf16 m=1024 k=5120 cols=6400 us=96.7 candidates=20000: side_rows=64 ...".
struct TileEntry {
  std::string chip;
  int num_devices = 1;
  tpu::Element element = tpu::Element::kBF16;
  std::int64_t m = 0;  // rows of all devices
  std::int64_t k = 0;
  std::vector<std::int64_t> cols;  // of one core
  double seconds = 0;
  int num_candidates = 0;
  TileParameters parameters;
};
std::string to_text(const TileEntry& entry);
// Lines that begin with # are comments. Throws Error(kBadFile) that names the line.
std::vector<TileEntry> parse_tile_table(std::string_view text);
std::string_view builtin_tile_table_text();
const std::vector<TileEntry>& builtin_tile_table();

// The entry nearest to a problem: of its chip where there is one, then by the ratios of rows,
// columns, k and devices. The table has at least one entry, so there is always one.
const TileEntry& nearest_entry(const std::vector<TileEntry>& table, const TileProblem& problem);

// The better of the rule's plan and the one that the nearest entry's parameters lead to.
TilePlan best_tiles(const TileProblem& problem);

// The shapes that the table is made for: the reference kernel's six, and the projections of some
// models on each chip, over 4, 8 and 16 devices, with 256, 1024 and 4096 rows.
std::vector<TileProblem> table_problems();
// Searches them one by one, the reference's six with a hundred times as many candidates. Calls
// `progress` with each line.
std::string make_tile_table(const SearchOptions& options,
                            const std::function<void(std::string_view line)>& progress);

}  // namespace cmm::sim
