#include "trace_file.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "cmm/timeline.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

std::string span_name(const Span& span) {
  const std::string kind(span_kind_name(span.kind));
  if (span.a < 0) return kind;
  if (span.kind == SpanKind::kMultiply) return text(kind, " row ", span.a, " column ", span.b);
  if (span.b < 0) return text(kind, " chunk ", span.a);
  return text(kind, " chunk ", span.a, " of rank ", span.b);
}

}  // namespace

std::string trace_events_json(std::span<const Span> spans) {
  std::int64_t origin_ns = std::numeric_limits<std::int64_t>::max();
  for (const Span& span : spans) origin_ns = std::min(origin_ns, span.begin_ns);
  const auto seconds = [&](std::int64_t ns) { return static_cast<double>(ns - origin_ns) * 1e-9; };
  std::map<int, std::map<int, TimelineLane>> ranks;  // rank, thread
  for (const Span& span : spans) {
    ranks[span.rank][span.thread].spans.push_back(
        {span.kind, seconds(span.begin_ns), seconds(span.end_ns), span_name(span)});
  }
  Timeline timeline;
  for (auto& [rank, threads] : ranks) {
    TimelineGroup& group = timeline.groups.emplace_back();
    group.name = text("rank ", rank);
    for (auto& [thread, lane] : threads) {
      lane.name = thread == 0 ? "caller" : text("worker ", thread);
      group.lanes.push_back(std::move(lane));
    }
  }
  return timeline_trace(timeline);
}

}  // namespace cmm::cli
