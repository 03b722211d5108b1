#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.hpp"
#include "cmm/timeline.hpp"
#include "sim/timeline_page.hpp"
#include "sim/timeline_rows.hpp"

namespace cmm {
namespace {

std::string html_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// Times are whole numbers of ticks on the page: a power of ten of seconds, of which the whole
// timeline has 10^6 to 10^7, more than a screen can show apart at any zoom a reader needs.
double tick_seconds(const Timeline& timeline) {
  double last = 0;
  for (const TimelineGroup& group : timeline.groups)
    for (const TimelineLane& lane : group.lanes)
      for (const TimelineSpan& span : lane.spans) last = std::max(last, span.end_seconds);
  return last > 0 ? std::pow(10, std::floor(std::log10(last)) - 6) : 1e-9;
}

// Each text once, numbered in the order of first use.
class Texts {
 public:
  std::size_t number_of(const std::string& text) {
    const auto [place, is_new] = numbers_.try_emplace(text, numbers_.size());
    if (is_new) list_ += cat(list_.empty() ? "" : ",", sim::json_string(text));
    return place->second;
  }
  const std::string& list() const { return list_; }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::string list_;
};

constexpr SpanKind kKinds[] = {SpanKind::kCall,    SpanKind::kWait,     SpanKind::kTransfer,
                               SpanKind::kPack,    SpanKind::kMultiply, SpanKind::kMemory,
                               SpanKind::kForward, SpanKind::kBackward};

// {tick, kinds, groups: [{name, lanes: [{name, rows, spans}]}], texts}. `spans` has five numbers
// for each: kind, row, ticks from the begin of the span before, ticks it lasts, text.
std::string data_of(const Timeline& timeline) {
  const double tick = tick_seconds(timeline);
  const auto ticks = [&](double seconds) { return std::llround(seconds / tick); };
  Texts texts;
  std::string groups;
  for (const TimelineGroup& group : timeline.groups) {
    std::string lanes;
    for (const TimelineLane& lane : group.lanes) {
      const sim::PlacedLane placed = sim::place_spans(lane, sim::Overlap::kNone);
      std::string spans;
      long long before = 0;
      for (const sim::PlacedSpan& one : placed.spans) {
        const long long begin = ticks(one.span->begin_seconds);
        spans += cat(spans.empty() ? "" : ",", static_cast<int>(one.span->kind), ",", one.row, ",",
                     begin - before, ",", ticks(one.span->end_seconds) - begin, ",",
                     texts.number_of(one.span->text));
        before = begin;
      }
      lanes += cat(lanes.empty() ? "" : ",\n", R"({"name":)", sim::json_string(lane.name),
                   R"(,"rows":)", placed.num_rows, R"(,"spans":[)", spans, "]}");
    }
    groups += cat(groups.empty() ? "" : ",\n", R"({"name":)", sim::json_string(group.name),
                  R"(,"lanes":[)", lanes, "]}");
  }
  const std::string kinds =
      joined(kKinds, ",", [](SpanKind kind) { return cat("\"", span_kind_name(kind), "\""); });
  return cat(R"({"tick":)", tick, R"(,"kinds":[)", kinds, "],\n\"groups\":[", groups,
             "],\n\"texts\":[", texts.list(), "]}");
}

std::string legend_of(const Timeline& timeline) {
  std::set<SpanKind> used;
  for (const TimelineGroup& group : timeline.groups)
    for (const TimelineLane& lane : group.lanes)
      for (const TimelineSpan& span : lane.spans) used.insert(span.kind);
  std::string items;
  for (const SpanKind kind : used)
    items += cat("<li><i style=\"background:var(--", span_kind_name(kind), ")\"></i>",
                 span_kind_name(kind), "</li>");
  return "<ul>" + items + "</ul>\n";
}

std::string heading_of(const Timeline& timeline) {
  std::string figures;
  for (const TimelineFigure& figure : timeline.figures)
    figures += cat("<div><dt>", html_text(figure.name), "</dt><dd>", html_text(figure.value),
                   "</dd></div>\n");
  return cat("<h1>", html_text(timeline.title), "</h1>\n<p>", html_text(timeline.subtitle),
             "</p>\n<dl>", figures, "</dl>\n");
}

}  // namespace

std::string timeline_html(const Timeline& timeline) {
  return cat(sim::kPageHead, html_text(timeline.title), sim::kPageStyle, heading_of(timeline),
             legend_of(timeline), sim::kPageCanvas, data_of(timeline), sim::kPageScript);
}

}  // namespace cmm
