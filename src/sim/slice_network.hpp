// Chips of a slice, one rank each, joined by the links of a grid or torus; ranks are numbered along
// a ring that is laid into it.
//
// On a grid of two or more axes, one of them even, the ring goes from neighbour to neighbour:
//
//   2 x 4    0 > 1 > 2 > 3
//            ^           v
//            7 < 6 < 5 < 4
//
// A line without wrap-around is folded: out by every second chip, back by the others, so that each
// hop crosses two links at most.
//
//   5        0   4   1   3   2
//
// Where all axes are odd, one that wraps around serves as well as an even one; if none does, the
// grid is folded along a path through all chips. Other transfers take the shortest way along the
// first axis, then the second, then the third.
#pragma once

#include <vector>

#include "cmm/tpu_chip.hpp"
#include "sim/network.hpp"

namespace cmm::sim {

struct SliceMachine {
  std::vector<int> chips;            // along each axis, at least 1 each; their product is the ranks
  std::vector<bool> wraps;           // by axis: whether its last chip is joined to its first
  double link_bytes_per_second = 0;  // one direction
  double hop_seconds = 0;            // latency of each link crossed
};

// A slice of these chips: its axes wrap around where the chip's data says so.
SliceMachine slice_machine(const tpu::Chip& chip, const std::vector<int>& chips);

class SliceNetwork final : public Network {
 public:
  explicit SliceNetwork(const SliceMachine& machine);

  int num_ranks() const override { return static_cast<int>(chip_of_rank_.size()); }
  const std::vector<Link>& links() const override { return links_; }
  void find_route(int from, int to, Route& route) const override;
  double seconds_to_look(int, int) const override { return -1; }
  std::vector<Site> sites() const override;
  int period() const override { return 1; }

  // Chips are numbered with the last axis running fastest.
  const std::vector<int>& chip_of_rank() const { return chip_of_rank_; }

 private:
  struct Step {
    int axis = 0;
    bool up = true;
  };
  int coordinate(int chip, int axis) const;
  int neighbour(int chip, Step step) const;
  int link(int chip, Step step) const;  // that leaves the chip there; -1: none does

  SliceMachine machine_;
  std::vector<int> strides_;       // by axis
  std::vector<int> chip_of_rank_;  // the ring
  std::vector<int> link_of_;       // [chip][axis][up, down]
  std::vector<Link> links_;
};

// Chips of a ring through all chips of the slice, in the order described above.
std::vector<int> ring_of_slice(const SliceMachine& machine);

}  // namespace cmm::sim
