// A schedule as a table for people, one column per rank: what it multiplies at each step, and from
// which rank that comes.
#pragma once

#include <string>

#include "schedule/schedule.hpp"

namespace cmm::schedule {

inline constexpr int kMaxPictureRanks = 8;

// Lines end in '\n'. Throws as check_shape, and Error(kInvalidArgument) for more ranks than
// kMaxPictureRanks.
std::string picture(const Shape& shape);

}  // namespace cmm::schedule
