#include "trace_file.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "text.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::ordered_json;

Json named_track(const char* what, int rank, int thread, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", rank}, {"tid", thread}, {"args", {{"name", name}}}};
}

std::string span_name(const Span& span) {
  const std::string kind(span_kind_name(span.kind));
  if (span.a < 0) return kind;
  if (span.kind == SpanKind::kMultiply) return text(kind, " row ", span.a, " column ", span.b);
  if (span.b < 0) return text(kind, " chunk ", span.a);
  return text(kind, " chunk ", span.a, " of rank ", span.b);
}

Json event_of(const Span& span, std::int64_t origin_ns) {
  auto microseconds = [](std::int64_t ns) { return static_cast<double>(ns) / 1000.0; };
  return {{"name", span_name(span)},
          {"cat", std::string(span_kind_name(span.kind))},
          {"ph", "X"},
          {"ts", microseconds(span.begin_ns - origin_ns)},
          {"dur", microseconds(span.end_ns - span.begin_ns)},
          {"pid", span.rank},
          {"tid", span.thread}};
}

}  // namespace

std::string trace_events_json(std::span<const Span> spans) {
  std::int64_t origin_ns = std::numeric_limits<std::int64_t>::max();
  std::set<std::pair<int, int>> tracks;
  for (const Span& span : spans) {
    origin_ns = std::min(origin_ns, span.begin_ns);
    tracks.insert({span.rank, span.thread});
  }
  Json events = Json::array();
  int last_rank = -1;
  for (const auto& [rank, thread] : tracks) {
    if (rank != last_rank)
      events.push_back(named_track("process_name", rank, 0, text("rank ", rank)));
    last_rank = rank;
    events.push_back(
        named_track("thread_name", rank, thread, thread == 0 ? "caller" : text("worker ", thread)));
  }
  for (const Span& span : spans) events.push_back(event_of(span, origin_ns));
  return Json{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}}.dump() + "\n";
}

}  // namespace cmm::cli
