// Which ranks may stand for all in a walk: where schedule, shards and network stay the same when
// all ranks are turned by `period`, what rank r does at any time rank r + period does at that time.
#pragma once

#include <string>
#include <vector>

#include "schedule/partition.hpp"
#include "schedule/schedule.hpp"
#include "sim/network.hpp"

namespace cmm::sim {

struct Symmetry {
  int period = 1;  // ranks 0 .. period - 1 stand for all P; P: each for itself
  // Links that turn into each other carry the same at all times: they are one class, whose first
  // link stands for it.
  std::vector<int> class_of_link;   // -1: no transfer crosses it
  std::vector<int> first_link;      // of each class
  std::vector<int> links_in_class;  // of each class
  std::string why_not;              // where period is P although more was hoped for, in words
};

// Proves the period that the network names, or takes P: compares all shards, the routes of all
// transfers and the receives of all ranks (schedule::turns). Time grows with the transfers of all
// ranks, memory with those of `period` ranks.
Symmetry find_symmetry(const schedule::Shape& shape, const schedule::Partition& partition,
                       const Network& network);

// Every rank and every link for itself.
Symmetry no_symmetry(const schedule::Shape& shape, const Network& network);

}  // namespace cmm::sim
