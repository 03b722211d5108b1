#include "self_test.hpp"

#include <string>

#include "table.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

struct Case {
  int ranks;
  std::int64_t m, k, n;
  int pieces = 1;
  std::vector<std::int64_t> rows = {};
  int num_weights = 1;
  bool transpose_y = false;
  int threads = 1;
};

// Tiles hold 6 rows, panels 32 columns in pairs, blocks 128 or 256 of k; up to 16 rows or so are
// multiplied in one pass over the weights.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {.ranks = 1, .m = 1, .k = 1, .n = 1},
      {.ranks = 1, .m = 7, .k = 127, .n = 97},
      {.ranks = 2, .m = 1, .k = 257, .n = 131, .threads = 2},
      {.ranks = 2, .m = 16, .k = 509, .n = 64, .num_weights = 2},
      {.ranks = 3, .m = 8, .k = 101, .n = 31, .pieces = 2, .rows = {3, 0, 5}},
      {.ranks = 4, .m = 67, .k = 263, .n = 193, .pieces = 3, .transpose_y = true},
      {.ranks = 5, .m = 257, .k = 37, .n = 101, .pieces = 4},
      {.ranks = 8, .m = 3, .k = 61, .n = 5},
      {.ranks = 3, .m = 0, .k = 5, .n = 7},
      {.ranks = 2, .m = 5, .k = 0, .n = 7},
      {.ranks = 2, .m = 5, .k = 7, .n = 0},
  };
  return all;
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

std::vector<Problem> self_test_problems(const SelfTestGroup& group) {
  std::vector<Problem> problems;
  for (Algorithm algorithm : kAllAlgorithms) {
    for (const Case& c : cases()) {
      Problem p;
      p.ranks = c.ranks;
      p.threads = c.threads;
      p.m = c.m;
      p.k = c.k;
      p.n = c.n;
      p.rows = c.rows;
      p.dtype = group.dtype;
      p.algorithm = algorithm;
      p.pieces = c.pieces;
      p.hosts = algorithm == Algorithm::kHierarchical && c.ranks > 1 ? 2 : 0;
      p.num_weights = c.num_weights;
      p.transpose_y = c.transpose_y;
      p.isa = group.isa;
      p.engine = Engine::kOwn;
      problems.push_back(std::move(p));
    }
  }
  return problems;
}

std::string problem_text(const Problem& p) {
  std::string shown = text(algorithm_name(p.algorithm), ", ", p.ranks, " ranks");
  if (!p.rows.empty()) shown += ", rows " + with_commas(p.rows);
  return shown + text(", m ", p.m, ", k ", p.k, ", n ", p.n, ", pieces ", p.pieces);
}

}  // namespace cmm::cli
