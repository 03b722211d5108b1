// The shapes the schedule tests sweep over.
#pragma once

#include <algorithm>
#include <ostream>
#include <set>
#include <vector>

#include "base/integers.hpp"
#include "schedule/schedule.hpp"

namespace cmm::schedule {

inline constexpr Algorithm kAlgorithms[] = {
    Algorithm::kDirect, Algorithm::kRing, Algorithm::kBidirectional, Algorithm::kRecursiveDoubling,
    Algorithm::kHierarchical};

inline std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << algorithm_name(shape.algorithm) << ", P = " << shape.num_ranks
             << ", Q = " << shape.num_pieces << ", hosts = " << shape.num_hosts
             << ", slots = " << shape.num_slots;
}

// Numbers of hosts worth a try: all for few ranks, else the ends, even and uneven ones.
inline std::vector<int> host_counts(int P) {
  std::vector<int> hosts;
  for (int H = 1; H <= P; ++H)
    if (P <= 9 || H <= 2 || H == 7 || H == P / 2 || H == P) hosts.push_back(H);
  return hosts;
}

// Every algorithm with `P` ranks and 1 to `most_pieces` pieces; num_slots is left at 0.
inline std::vector<Shape> shapes(int P, int most_pieces) {
  std::vector<Shape> list;
  for (const Algorithm algorithm : kAlgorithms)
    for (int Q = 1; Q <= most_pieces; ++Q)
      for (const int H : host_counts(P))
        if (H == 1 || algorithm == Algorithm::kHierarchical)
          list.push_back({.algorithm = algorithm, .num_ranks = P, .num_pieces = Q, .num_hosts = H});
  return list;
}

inline std::vector<Shape> all_shapes() {
  std::vector<Shape> list;
  for (int P = 1; P <= 17; ++P)
    for (const Shape& shape : shapes(P, 4)) list.push_back(shape);
  for (const int P : {33, 64, 65, 100})
    for (const Shape& shape : shapes(P, P == 33 ? 2 : 1)) list.push_back(shape);
  return list;
}

inline std::vector<RankSchedule> make_all(const Shape& shape) {
  std::vector<RankSchedule> schedules;
  for (int rank = 0; rank < shape.num_ranks; ++rank)
    schedules.push_back(make_rank_schedule(shape, rank));
  return schedules;
}

// The ranks of one host.
struct HostRanks {
  int begin = 0, end = 0;
  bool has(int rank) const { return begin <= rank && rank < end; }
  int size() const { return end - begin; }
  int next(int rank) const { return rank + 1 == end ? begin : rank + 1; }
};

inline HostRanks host_of(const Shape& shape, int rank) {
  for (int host = 0;; ++host) {
    const Range ranks = even_part(shape.num_ranks, shape.num_hosts, host);
    if (rank < ranks.end) return {static_cast<int>(ranks.begin), static_cast<int>(ranks.end)};
  }
}

}  // namespace cmm::schedule
