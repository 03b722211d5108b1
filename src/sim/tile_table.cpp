#include "sim/tile_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <sstream>

#include "base/text.hpp"
#include "cmm/error.hpp"
#include "sim/tile_recipe.hpp"

namespace cmm::sim {
namespace {

using tpu::Element;

std::int64_t rows_of(const TileProblem& problem) {
  return problem.shape.num_devices * problem.shape.shard_rows;
}

std::int64_t sum(const std::vector<std::int64_t>& cols) {
  return std::accumulate(cols.begin(), cols.end(), std::int64_t{0});
}

double ratio(double a, double b) { return std::abs(std::log2(a / b)); }

// Rows decide which parameters are good; the rest less so.
double distance(const TileEntry& entry, const TileProblem& problem) {
  const bool same_chip = entry.chip == problem.machine.chip.name;
  const bool same_size =
      tpu::element_bytes(entry.element) == tpu::element_bytes(problem.machine.elements.operand);
  return (same_chip ? 0 : 100) + (same_size ? 0 : 4) +
         2 * ratio(static_cast<double>(entry.m), static_cast<double>(rows_of(problem))) +
         ratio(static_cast<double>(entry.k), static_cast<double>(problem.shape.k)) +
         ratio(static_cast<double>(sum(entry.cols)), static_cast<double>(sum(problem.shape.cols))) +
         ratio(entry.num_devices, problem.shape.num_devices) +
         (entry.cols.size() == problem.shape.cols.size() ? 0 : 0.5);
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1)
    throw Error(ErrorCode::kBadFile, cat("'", text, "' is no positive number"));
  return value;
}

// "m=1024" -> "1024"
std::string value_of(std::istringstream& words, std::string_view key) {
  std::string word;
  words >> word;
  if (!word.starts_with(key) || word.size() <= key.size() || word[key.size()] != '=')
    throw Error(ErrorCode::kBadFile, cat("there is '", word, "' where ", key, "= should be"));
  return word.substr(key.size() + 1);
}

TileEntry parse_entry(const std::string& line) {
  const std::size_t colon = line.find(": ");
  if (colon == std::string::npos) throw Error(ErrorCode::kBadFile, "there is no ': '");
  std::istringstream words(line.substr(0, colon));
  TileEntry entry;
  std::string num_devices, element;
  words >> entry.chip >> num_devices >> element;
  entry.num_devices = static_cast<int>(number(num_devices));
  entry.element = tpu::parse_element(element);
  entry.m = number(value_of(words, "m"));
  entry.k = number(value_of(words, "k"));
  std::istringstream cols(value_of(words, "cols"));
  for (std::string one; std::getline(cols, one, '+');) entry.cols.push_back(number(one));
  entry.seconds = std::stod(value_of(words, "us")) * 1e-6;
  entry.num_candidates = static_cast<int>(number(value_of(words, "candidates")));
  entry.parameters = parse_tile_parameters(line.substr(colon + 2));
  return entry;
}

}  // namespace

std::string to_text(const TileEntry& entry) {
  return cat(entry.chip, " ", entry.num_devices, " ", tpu::element_name(entry.element),
             " m=", entry.m, " k=", entry.k, " cols=", joined(entry.cols, "+"),
             " us=", std::round(entry.seconds * 1e7) / 10, " candidates=", entry.num_candidates,
             ": ", to_text(entry.parameters));
}

std::vector<TileEntry> parse_tile_table(std::string_view text) {
  std::vector<TileEntry> table;
  std::istringstream lines{std::string(text)};
  int number_of_line = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number_of_line;
    if (line.empty() || line[0] == '#') continue;
    try {
      table.push_back(parse_entry(line));
    } catch (const std::exception& error) {
      throw Error(ErrorCode::kBadFile,
                  cat("table of tile schedules, line ", number_of_line, ": ", error.what()));
    }
  }
  if (table.empty()) throw Error(ErrorCode::kBadFile, "the table of tile schedules has no entry");
  return table;
}

const std::vector<TileEntry>& builtin_tile_table() {
  static const std::vector<TileEntry> table = parse_tile_table(builtin_tile_table_text());
  return table;
}

const TileEntry& nearest_entry(const std::vector<TileEntry>& table, const TileProblem& problem) {
  return *std::ranges::min_element(
      table, {}, [&problem](const TileEntry& entry) { return distance(entry, problem); });
}

TilePlan best_tiles(const TileProblem& problem) {
  TilePlan plan = plan_tiles(problem);
  TileParameters found = nearest_entry(builtin_tile_table(), problem).parameters;
  fit_rows(problem.shape, found);
  ListScheduled scheduled = list_schedule(problem, found);
  if (scheduled.plan && scheduled.plan->times.seconds < plan.times.seconds)
    return *std::move(scheduled.plan);
  return plan;
}

}  // namespace cmm::sim
