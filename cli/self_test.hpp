// Small problems that together reach every instruction set, algorithm and edge of a block.
#pragma once

#include <optional>
#include <vector>

#include "problem.hpp"

namespace cmm::cli {

// What all problems of one group share; one line of `cmm check`.
struct SelfTestGroup {
  Isa isa = Isa::kPortable;
  DType dtype = DType::kF32;
};
// Every instruction set of this machine with every type.
std::vector<SelfTestGroup> self_test_groups();

// Every algorithm on several numbers of ranks (or on num_ranks where they have been started),
// pieces, uneven rows with zeros, and shapes around the sizes of tiles, panels and blocks.
std::vector<Problem> self_test_problems(const SelfTestGroup& group, std::optional<int> num_ranks);

// For messages: "ring, 3 ranks, rows 3,0,5, m 8, k 101, n 31, pieces 2".
std::string problem_text(const Problem& problem);

inline constexpr Algorithm kAllAlgorithms[] = {
    Algorithm::kDirect, Algorithm::kRing, Algorithm::kBidirectional, Algorithm::kRecursiveDoubling,
    Algorithm::kHierarchical};

}  // namespace cmm::cli
