// A timeline: what was busy when, for people and for tools.
#pragma once

#include <string>
#include <vector>

#include "cmm/trace.hpp"

namespace cmm {

struct TimelineSpan {
  SpanKind kind = SpanKind::kMultiply;  // decides the colour
  double begin_seconds = 0;             // >= 0
  double end_seconds = 0;               // >= begin_seconds
  std::string text;                     // "y block 3"
};

// Spans in any order. They may overlap: what does not fit beside an earlier one is drawn below it.
struct TimelineLane {
  std::string name;  // "MXU"
  std::vector<TimelineSpan> spans;
};

// One rank or device.
struct TimelineGroup {
  std::string name;  // "device 3"
  std::vector<TimelineLane> lanes;
};

// A headline figure, as text: "time", "96.5 us".
struct TimelineFigure {
  std::string name;
  std::string value;
};

struct Timeline {
  std::string title;
  std::string subtitle;
  std::vector<TimelineFigure> figures;
  std::vector<TimelineGroup> groups;
};

// One HTML page that needs nothing else: figures on top, then the groups with their lanes, which
// can be zoomed and tell each span's text and times. Same timeline, same bytes. All text is
// escaped. Throws Error(kInvalidArgument) naming a span that ends before it begins, or whose times
// are negative or not finite.
std::string timeline_html(const Timeline& timeline);

// Trace Event Format, JSON, which Perfetto and chrome://tracing open: one process per group, one
// track per lane and more where its spans overlap without one containing the other; complete events
// ("X") in microseconds. Throws as timeline_html.
std::string timeline_trace(const Timeline& timeline);

}  // namespace cmm
