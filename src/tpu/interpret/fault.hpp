// How a run ends that finds a fault.
#pragma once

#include <string>
#include <utility>

#include "tpu/interpret/interpret.hpp"

namespace cmm::tpu {

// Thrown within a run. The scheduler adds the device that went on, and its statement in words.
struct FaultFound {
  Fault::Kind kind = Fault::Kind::kInvalid;
  std::string text;
  int device = -1;
};

}  // namespace cmm::tpu
