// The problems that the table of tile schedules is made for.
#include <array>
#include <set>

#include "base/integers.hpp"
#include "sim/chips.hpp"
#include "sim/tile_table.hpp"

namespace cmm::sim {
namespace {

// Widths of a transformer's layer, from the models' public configurations.
struct Model {
  std::int64_t hidden, feed_forward, queries, keys;
};
constexpr std::array<Model, 8> kModels = {{
    {4096, 14336, 4096, 1024},  // Llama 3 8B
    {8192, 28672, 8192, 1024},  // Llama 3 70B
    {3584, 18944, 3584, 512},   // Qwen 2.5 7B
    {5120, 27648, 5120, 1024},  // Qwen 2.5 32B
    {8192, 29568, 8192, 1024},  // Qwen 2.5 72B
    {5120, 25600, 8192, 1024},  // Qwen 3 32B
    {4608, 36864, 4096, 2048},  // Gemma 2 27B
    {5376, 21504, 4096, 2048},  // Gemma 3 27B
}};

struct Product {
  std::int64_t k;
  std::vector<std::int64_t> n;
};
std::vector<Product> products_of(const Model& model) {
  return {{model.hidden, {model.feed_forward, model.feed_forward}},  // gate and up
          {model.feed_forward, {model.hidden}},                      // down
          {model.hidden, {model.queries, model.keys, model.keys}},
          {model.queries, {model.hidden}}};
}

TileProblem problem(const tpu::Chip& chip, int num_devices, std::int64_t m,
                    const Product& product) {
  TileProblem problem;
  problem.machine.chip = chip;
  problem.machine.link_bytes_per_second = chip.link_bytes_per_second;
  problem.machine.hop_seconds = chip.hop_seconds;
  const int row_tile = tpu::sublane_rows(chip.generation, tpu::Element::kBF16);
  problem.shape.num_devices = num_devices;
  problem.shape.row_tile = row_tile;
  problem.shape.shard_rows = round_up(ceil_div(m, num_devices), row_tile);
  problem.shape.k = round_up(product.k, tpu::kLanes);
  for (const std::int64_t n : product.n) {
    const std::int64_t columns = ceil_div(n, std::int64_t{num_devices} * chip.cores_per_device);
    problem.shape.cols.push_back(round_up(columns, tpu::kLanes));
  }
  return problem;
}

std::vector<TileProblem> reference_problems() {
  const tpu::Chip& v6e = find_chip(builtin_chips(), "v6e");
  std::vector<TileProblem> problems;
  for (const std::int64_t m : {1024, 2048, 4096, 8192})
    problems.push_back(problem(v6e, 8, m, {5120, {51200}}));
  for (const std::int64_t m : {1024, 2048}) problems.push_back(problem(v6e, 8, m, {8192, {57344}}));
  return problems;
}

TileEntry entry_of(const TileProblem& problem, const TilePlan& plan, int num_candidates) {
  return {.chip = problem.machine.chip.name,
          .num_devices = problem.shape.num_devices,
          .element = problem.machine.elements.operand,
          .m = problem.shape.num_devices * problem.shape.shard_rows,
          .k = problem.shape.k,
          .cols = problem.shape.cols,
          .seconds = plan.times.seconds,
          .num_candidates = num_candidates,
          .parameters = plan.parameters};
}

}  // namespace

std::vector<TileProblem> table_problems() {
  std::vector<TileProblem> problems = reference_problems();
  for (const tpu::Chip& chip : builtin_chips()) {
    for (const int num_devices : {4, 8, 16}) {
      for (const Model& model : kModels) {
        for (const Product& product : products_of(model)) {
          for (const std::int64_t m : {256, 1024, 4096})
            problems.push_back(problem(chip, num_devices, m, product));
        }
      }
    }
  }
  return problems;
}

std::string make_tile_table(const SearchOptions& options,
                            const std::function<void(std::string_view line)>& progress) {
  std::string text =
      "# Parameters of tile schedules found by a search over the model of docs/tpu.md, "
      "\"Search\".\n"
      "# chip, devices, element, rows of all devices, k, columns of a core of each right side;\n"
      "# the time by the model and the number of candidates that led to it: parameters.\n";
  const std::size_t num_reference = reference_problems().size();
  const std::vector<TileProblem> problems = table_problems();
  std::set<std::string> seen;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const TileProblem& problem = problems[i];
    if (!seen.insert(to_text(entry_of(problem, {}, 0))).second) continue;
    SearchOptions here = options;
    if (i < num_reference) here.num_candidates *= 100;
    const std::string line = to_text(
        entry_of(problem, search_tiles(problem, plan_tiles(problem), here), here.num_candidates));
    progress(line);
    text += line + "\n";
  }
  return text;
}

}  // namespace cmm::sim
