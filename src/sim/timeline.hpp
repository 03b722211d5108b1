// Timelines of what the walkers of this layer have timed.
#pragma once

#include <string>

#include "cmm/timeline.hpp"
#include "sim/tile_walk.hpp"

namespace cmm::sim {

struct TileTimelineText {
  std::string title = {};     // "wavefront on 8 x v6e"
  std::string subtitle = {};  // the problem
  int num_devices = 1;
  double bound_seconds = 0;  // 0: none is shown
};

// Of one device of the ring and, where there are any, the neighbours before and after it, which run
// the same spans. `times` were walked with spans.
Timeline tile_timeline(const TileTimes& times, const TileTimelineText& text);

// "96.5 us": three or four digits.
std::string seconds_text(double seconds);
std::string percent_text(double share);  // "93.1 %"

}  // namespace cmm::sim
