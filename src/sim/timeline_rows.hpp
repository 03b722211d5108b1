// What the page and the trace share: the order of spans, and which of them lie beside each other.
#pragma once

#include <string>
#include <vector>

#include "cmm/timeline.hpp"

namespace cmm::sim {

// Which spans may share a row though they overlap: kNone; or those of which one contains the other.
enum class Overlap { kNone, kNested };

struct PlacedSpan {
  const TimelineSpan* span = nullptr;
  int row = 0;  // from 0; the first that has room
};

struct PlacedLane {
  std::vector<PlacedSpan> spans;  // by begin, then the longer first
  int num_rows = 1;
};

// Throws Error(kInvalidArgument) as timeline_html says. kNone has 24 rows at most: what finds no
// room lies on the span that ends first. Time grows with spans times rows.
PlacedLane place_spans(const TimelineLane& lane, Overlap overlap);

// `text` as a JSON string with its quotes; "<" is written as an escape, so that the string can
// stand in a script of a page.
std::string json_string(const std::string& text);

}  // namespace cmm::sim
