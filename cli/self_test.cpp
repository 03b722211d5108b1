#include "self_test.hpp"

#include <cstdint>
#include <numeric>
#include <string>

#include "table.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

// Tiles hold 6 rows, panels 32 columns in pairs, blocks 128 or 256 of k; up to 16 rows or so are
// multiplied in one pass over the weights.
std::vector<Problem> cases() {
  return {
      {.ranks = 1, .m = 1, .k = 1, .n = 1, .pieces = 1},
      {.ranks = 1, .m = 7, .k = 127, .n = 97, .pieces = 1},
      {.ranks = 2, .threads = 2, .m = 1, .k = 257, .n = 131, .pieces = 1},
      {.ranks = 2, .m = 16, .k = 509, .n = 64, .pieces = 1, .num_weights = 2},
      {.ranks = 3, .m = 8, .k = 101, .n = 31, .rows = {3, 0, 5}, .pieces = 2},
      {.ranks = 4, .m = 67, .k = 263, .n = 193, .pieces = 3, .transpose_y = true},
      {.ranks = 5, .m = 257, .k = 37, .n = 101, .pieces = 4},
      {.ranks = 8, .m = 3, .k = 61, .n = 5, .pieces = 1},
      {.ranks = 3, .m = 0, .k = 5, .n = 7, .pieces = 1},
      {.ranks = 2, .m = 5, .k = 0, .n = 7, .pieces = 1},
      {.ranks = 2, .m = 5, .k = 7, .n = 0, .pieces = 1},
  };
}

// The same rows in turn on as many ranks as there are.
void put_on(Problem& p, int num_ranks) {
  p.ranks = num_ranks;
  if (p.rows.empty()) return;
  const std::vector<std::int64_t> pattern = p.rows;
  p.rows.clear();
  for (int r = 0; r < num_ranks; ++r) {
    p.rows.push_back(pattern[static_cast<std::size_t>(r) % pattern.size()]);
  }
  p.m = std::accumulate(p.rows.begin(), p.rows.end(), std::int64_t{0});
}

}  // namespace

std::vector<SelfTestGroup> self_test_groups() {
  std::vector<SelfTestGroup> groups;
  for (Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16}) {
    if (!isa_supported(isa)) continue;
    for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) groups.push_back({isa, dtype});
  }
  return groups;
}

std::vector<Problem> self_test_problems(const SelfTestGroup& group, std::optional<int> num_ranks) {
  std::vector<Problem> problems;
  for (Algorithm algorithm : kAllAlgorithms) {
    for (Problem p : cases()) {
      if (num_ranks) put_on(p, *num_ranks);
      p.dtype = group.dtype;
      p.algorithm = algorithm;
      p.hosts = algorithm == Algorithm::kHierarchical && p.ranks > 1 ? 2 : 0;
      p.isa = group.isa;
      p.engine = Engine::kOwn;
      problems.push_back(std::move(p));
    }
  }
  return problems;
}

std::string problem_text(const Problem& p) {
  std::string shown = text(algorithm_name(p.algorithm), ", ", p.ranks, " ranks");
  if (!p.rows.empty()) shown += ", rows " + joined(p.rows, ",");
  return shown + text(", m ", p.m, ", k ", p.k, ", n ", p.n, ", pieces ", p.pieces);
}

}  // namespace cmm::cli
