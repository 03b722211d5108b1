#include "sim/timeline_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm::sim {
namespace {

void check_span(const TimelineLane& lane, const TimelineSpan& span) {
  if (std::isfinite(span.begin_seconds) && std::isfinite(span.end_seconds) &&
      span.begin_seconds >= 0 && span.end_seconds >= span.begin_seconds) {
    return;
  }
  throw Error(ErrorCode::kInvalidArgument,
              cat("span '", span.text, "' of lane '", lane.name, "' lasts from ",
                  span.begin_seconds, " to ", span.end_seconds,
                  " s; times must be finite, at least 0, and end no earlier than they begin"));
}

// One row: the spans that are open at the moment, outermost first.
class Row {
 public:
  bool takes(const TimelineSpan& span, Overlap overlap) {
    while (!open_.empty() && open_.back() <= span.begin_seconds) open_.pop_back();
    if (!open_.empty() && (overlap == Overlap::kNone || open_.back() < span.end_seconds))
      return false;
    open_.push_back(span.end_seconds);
    return true;
  }
  void squeeze_in(const TimelineSpan& span) { open_.push_back(span.end_seconds); }
  double end_seconds() const { return open_.back(); }

 private:
  std::vector<double> open_;  // their ends, falling
};

// Of a page: thousands of transfers at a time would make it thousands of rows high.
constexpr std::size_t kMaxRows = 24;

}  // namespace

PlacedLane place_spans(const TimelineLane& lane, Overlap overlap) {
  PlacedLane placed;
  placed.spans.reserve(lane.spans.size());
  for (const TimelineSpan& span : lane.spans) {
    check_span(lane, span);
    placed.spans.push_back({&span, 0});
  }
  std::ranges::stable_sort(placed.spans, [](const PlacedSpan& a, const PlacedSpan& b) {
    if (a.span->begin_seconds != b.span->begin_seconds)
      return a.span->begin_seconds < b.span->begin_seconds;
    return a.span->end_seconds > b.span->end_seconds;
  });
  std::vector<Row> rows(1);
  for (PlacedSpan& one : placed.spans) {
    auto row = std::ranges::find_if(rows, [&](Row& r) { return r.takes(*one.span, overlap); });
    if (row == rows.end() && overlap == Overlap::kNone && rows.size() == kMaxRows) {
      row = std::ranges::min_element(rows, {}, &Row::end_seconds);
      row->squeeze_in(*one.span);
    }
    if (row == rows.end()) {
      rows.emplace_back().takes(*one.span, overlap);
      row = std::prev(rows.end());
    }
    one.row = static_cast<int>(row - rows.begin());
  }
  placed.num_rows = static_cast<int>(rows.size());
  return placed;
}

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '<' || static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace cmm::sim
