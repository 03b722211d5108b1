#include <charconv>

#include "base/text.hpp"
#include "cmm/timeline.hpp"
#include "sim/timeline_rows.hpp"

namespace cmm {
namespace {

// Microseconds to a picosecond: finer than any span, and no digit more.
std::string microseconds(double seconds) {
  char digits[64];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, seconds * 1e6, std::chars_format::fixed, 6).ptr;
  std::string text(digits, end);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

class Events {
 public:
  void name(const char* what, std::size_t pid, int tid, const std::string& name) {
    add(cat(R"({"name":")", what, R"(","ph":"M","pid":)", pid, R"(,"tid":)", tid,
            R"(,"args":{"name":)", sim::json_string(name), "}}"));
  }
  void complete(const TimelineSpan& span, std::size_t pid, int tid) {
    add(cat(R"({"name":)", sim::json_string(span.text), R"(,"cat":")", span_kind_name(span.kind),
            R"(","ph":"X","ts":)", microseconds(span.begin_seconds), R"(,"dur":)",
            microseconds(span.end_seconds - span.begin_seconds), R"(,"pid":)", pid, R"(,"tid":)",
            tid, "}"));
  }
  std::string str() const {
    return R"({"displayTimeUnit":"ns","traceEvents":[)" + events_ + "]}\n";
  }

 private:
  void add(const std::string& event) { events_ += (events_.empty() ? "" : ",\n") + event; }
  std::string events_;
};

}  // namespace

std::string timeline_trace(const Timeline& timeline) {
  Events events;
  for (std::size_t pid = 0; pid < timeline.groups.size(); ++pid) {
    const TimelineGroup& group = timeline.groups[pid];
    events.name("process_name", pid, 0, group.name);
    int first = 0;  // track of the lane
    for (const TimelineLane& lane : group.lanes) {
      const sim::PlacedLane placed = sim::place_spans(lane, sim::Overlap::kNested);
      for (int row = 0; row < placed.num_rows; ++row)
        events.name("thread_name", pid, first + row,
                    row == 0 ? lane.name : cat(lane.name, " (", row + 1, ")"));
      for (const sim::PlacedSpan& one : placed.spans)
        events.complete(*one.span, pid, first + one.row);
      first += placed.num_rows;
    }
  }
  return events.str();
}

}  // namespace cmm
