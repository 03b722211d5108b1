// Problems for the tests of the planner.
#pragma once

#include <string>
#include <vector>

#include "base/text.hpp"
#include "sim/chips.hpp"
#include "sim/tile_plan.hpp"

namespace cmm::sim {

struct ProblemText {
  std::string chip = "v6e";
  int num_devices = 8;
  std::int64_t m = 1024;
  std::int64_t k = 5120;
  std::vector<std::int64_t> cols = {6400};  // of one core
  tpu::Element element = tpu::Element::kBF16;
  bool gathered = false;
};

inline TileProblem tile_problem(const ProblemText& text) {
  TileProblem problem;
  problem.machine.chip = find_chip(builtin_chips(), text.chip);
  problem.machine.elements = {
      text.element, text.element == tpu::Element::kS8 ? tpu::Element::kS32 : text.element};
  problem.machine.link_bytes_per_second = problem.machine.chip.link_bytes_per_second;
  problem.machine.hop_seconds = problem.machine.chip.hop_seconds;
  const int row_tile = tpu::sublane_rows(problem.machine.chip.generation, text.element);
  problem.shape.num_devices = text.num_devices;
  problem.shape.row_tile = row_tile;
  problem.shape.shard_rows = round_up(ceil_div(text.m, text.num_devices), row_tile);
  problem.shape.k = text.k;
  problem.shape.cols = text.cols;
  problem.shape.gathered = text.gathered;
  return problem;
}

inline std::string to_text(const ProblemText& text) {
  return cat(text.chip, " P=", text.num_devices, " m=", text.m, " k=", text.k,
             " cols=", joined(text.cols, "+"), " ", tpu::element_name(text.element),
             text.gathered ? " gathered" : "");
}

// One after another, differing in everything: P = 1 .. 9, shards of one row tile and more, halves
// of which one is empty, blocks that do not divide, several right sides, all types.
inline std::vector<ProblemText> small_problems() {
  using tpu::Element;
  const std::vector<std::string> chips = {"v6e", "v5e", "7x", "v4", "v5p"};
  const std::vector<Element> elements = {Element::kBF16, Element::kF32, Element::kS8,
                                         Element::kF8E4M3};
  const std::vector<std::vector<std::int64_t>> all_cols = {
      {128}, {384}, {512, 128, 128}, {1280}, {640, 640}};
  std::vector<ProblemText> problems;
  int i = 0;
  for (int num_devices = 1; num_devices <= 9; ++num_devices) {
    for (const std::int64_t shard : {1, 8, 16, 24, 64, 136, 200}) {
      ++i;
      ProblemText text;
      text.chip = chips[i % chips.size()];
      text.element = elements[i / 2 % elements.size()];
      if (text.chip == "v4" && tpu::element_bytes(text.element) == 1) text.element = Element::kBF16;
      text.num_devices = num_devices;
      text.m = num_devices * shard;
      text.k = i % 3 == 0 ? 128 : i % 3 == 1 ? 384 : 1024;
      text.cols = all_cols[i % all_cols.size()];
      text.gathered = i % 4 == 0;
      problems.push_back(text);
    }
  }
  return problems;
}

}  // namespace cmm::sim
