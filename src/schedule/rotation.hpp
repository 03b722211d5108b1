// Whether ranks may stand for each other: a walker of all ranks can then follow some of them only.
#pragma once

#include <vector>

#include "schedule/schedule.hpp"

namespace cmm::schedule {

// The transfer that rank `to + ranks` does where `to` does this one, all ranks being turned by
// `ranks`, 0 <= ranks < P: the same slots and step, other ranks and chunks.
Transfer turned(const Shape& shape, const Transfer& transfer, int ranks);

// Whether the receives of every rank are those of the rank `period` before it, turned. Compares
// them all: time grows with P * P * chunks_per_shard, memory with P * chunks_per_shard * period.
// P is a multiple of `period`. Throws as check_shape.
bool turns(const Shape& shape, int period);

}  // namespace cmm::schedule
