// What happened before what. Each device counts its own time; a clock holds, for each device, the
// latest of its times that is known to have passed.
//
// Copies need no place in a clock although they run beside the devices: that a copy has left or
// has come can be learned only from its semaphore, and only the semaphore's own device can wait
// for it. So "known to be complete" is a moment of that device, and whoever knows of the moment
// knows of the copy. Nothing is approximated, however many copies are in flight.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tpu/interpret/boxes.hpp"

namespace cmm::tpu {

using Time = std::uint32_t;
inline constexpr Time kNever = std::numeric_limits<Time>::max();
using Clock = std::vector<Time>;  // by device

void merge(Clock& clock, const Clock& other);

struct Moment {
  int device = 0;
  Time time = kNever;
  bool known_to(const Clock& clock) const {
    return time != kNever && clock[static_cast<std::size_t>(device)] >= time;
  }
};

// When the two ends of a copy were first known to be done. That the target is written implies that
// the source has been read.
struct CopyMoments {
  Moment departed, arrived;
};

struct Access {
  Box box;
  bool writes = false;
  // By a device: `moment`. By a copy, from its start on: until copies[copy] says that it is over.
  int copy = -1;
  Moment moment;
  int device = -1;       // that made the access or started the copy
  int instruction = -1;  // of that device's program
};

// Accesses to one buffer of one device that a later access may be unordered with.
class AccessList {
 public:
  // Adds an access that is made with `clock`. Returns the access it conflicts with: they overlap,
  // one of them writes, and nothing orders them; null where there is none. Valid until the next
  // call.
  const Access* add(const Access& access, const Clock& clock,
                    const std::vector<CopyMoments>& copies);

  // Drops what is known to all of `clocks`: those of everybody who can still get at the buffer.
  void prune(std::span<const Clock* const> clocks, const std::vector<CopyMoments>& copies);
  bool should_prune() const { return accesses_.size() >= prune_at_; }
  void clear() { accesses_.clear(); }

 private:
  std::vector<Access> accesses_;
  std::size_t prune_at_ = 16;
};

}  // namespace cmm::tpu
