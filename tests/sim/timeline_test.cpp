// Timelines as pages and traces: every span once, where it belongs, and no text that breaks out.
#include "cmm/timeline.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cmm/error.hpp"
#include "sim/timeline.hpp"

namespace cmm {
namespace {

using Json = nlohmann::json;

Timeline one_lane(std::vector<TimelineSpan> spans) {
  return {"title", "subtitle", {{"time", "3 us"}}, {{"rank 0", {{"lane", std::move(spans)}}}}};
}

// The JSON object that the page's script draws.
Json data_of(const std::string& page) {
  const std::string opening = R"(<script type="application/json" id="data">)";
  const std::size_t begin = page.find(opening) + opening.size();
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

struct Drawn {
  std::string kind, text;
  int row;
  double begin, end;
};
std::vector<Drawn> drawn_spans(const Json& data, int group, int lane) {
  const Json& spans = data["groups"][group]["lanes"][lane]["spans"];
  std::vector<Drawn> out;
  double ticks = 0;
  for (std::size_t i = 0; i < spans.size(); i += 5) {
    ticks += spans[i + 2].get<double>();
    const double tick = data["tick"];
    out.push_back({data["kinds"][spans[i].get<int>()], data["texts"][spans[i + 4].get<int>()],
                   spans[i + 1], ticks * tick, (ticks + spans[i + 3].get<double>()) * tick});
  }
  return out;
}

TEST(TimelinePage, HoldsEverySpanWithItsTimes) {
  const auto data = data_of(timeline_html(one_lane({
      {SpanKind::kWait, 1e-6, 2e-6, "b"},
      {SpanKind::kMultiply, 0, 1e-6, "a"},
      {SpanKind::kMultiply, 2e-6, 3e-6, "a"},
  })));
  const std::vector<Drawn> spans = drawn_spans(data, 0, 0);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(data["texts"].size(), 2u);  // each text once
  const char* kinds[] = {"multiply", "wait", "multiply"};
  const char* texts[] = {"a", "b", "a"};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(spans[i].kind, kinds[i]);
    EXPECT_EQ(spans[i].text, texts[i]);
    EXPECT_EQ(spans[i].row, 0);
    EXPECT_NEAR(spans[i].begin, i * 1e-6, 1e-12);
    EXPECT_NEAR(spans[i].end, (i + 1) * 1e-6, 1e-12);
  }
}

TEST(TimelinePage, DrawsSpansThatOverlapBelowEachOther) {
  const auto data = data_of(timeline_html(one_lane({
      {SpanKind::kMemory, 0, 4, "long"},
      {SpanKind::kMemory, 1, 2, "inside"},
      {SpanKind::kMemory, 3, 5, "across"},
      {SpanKind::kMemory, 4, 6, "after"},
  })));
  EXPECT_EQ(data["groups"][0]["lanes"][0]["rows"], 2);
  const std::vector<Drawn> spans = drawn_spans(data, 0, 0);
  for (std::size_t i = 0; i < spans.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_TRUE(spans[i].row != spans[j].row || spans[i].begin >= spans[j].end)
          << spans[i].text << " lies on " << spans[j].text;
  EXPECT_EQ(spans[3].row, 0);  // the first row that has room
}

TEST(TimelinePage, IsNotHigherThanAPersonCanScroll) {
  std::vector<TimelineSpan> spans(1000, {SpanKind::kTransfer, 0, 1, "one of many"});
  const auto data = data_of(timeline_html(one_lane(spans)));
  EXPECT_EQ(data["groups"][0]["lanes"][0]["rows"], 24);
  EXPECT_EQ(drawn_spans(data, 0, 0).size(), 1000u);
}

TEST(TimelinePage, NoTextLeavesItsPlace) {
  const std::string evil = "</script><img src=x onerror=alert(1)>&\"'\n\\";
  Timeline timeline = one_lane({{SpanKind::kWait, 0, 1, evil}});
  timeline.title = timeline.subtitle = evil;
  timeline.figures = {{evil, evil}};
  timeline.groups[0].name = timeline.groups[0].lanes[0].name = evil;
  const std::string page = timeline_html(timeline);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  std::size_t num_ends = 0;
  for (std::size_t at = page.find("</script"); at != std::string::npos;
       at = page.find("</script", at + 1))
    ++num_ends;
  EXPECT_EQ(num_ends, 2u);  // of the data and of the script
  const Json data = data_of(page);
  EXPECT_EQ(data["texts"][0], evil);
  EXPECT_EQ(data["groups"][0]["name"], evil);
  EXPECT_EQ(data["groups"][0]["lanes"][0]["name"], evil);
}

TEST(TimelinePage, NeedsNothingFromElsewhereAndIsTheSameEachTime) {
  const Timeline timeline = one_lane({{SpanKind::kForward, 0, 1, "send"}});
  const std::string page = timeline_html(timeline);
  for (const char* word : {"http:", "https:", "src=", "@import", "url("})
    EXPECT_EQ(page.find(word), std::string::npos) << word;
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(page, timeline_html(timeline));
}

TEST(TimelinePage, LegendNamesTheKindsThatOccur) {
  const std::string page =
      timeline_html(one_lane({{SpanKind::kForward, 0, 1, "a"}, {SpanKind::kBackward, 0, 1, "b"}}));
  EXPECT_NE(page.find("</i>forward</li>"), std::string::npos);
  EXPECT_NE(page.find("</i>backward</li>"), std::string::npos);
  EXPECT_EQ(page.find("</i>multiply</li>"), std::string::npos);
}

TEST(TimelineTrace, HasATrackForEachLaneAndMoreWhereSpansCross) {
  Timeline timeline = one_lane({
      {SpanKind::kCall, 0, 4e-6, "call"},
      {SpanKind::kWait, 1e-6, 2e-6, "inside"},
      {SpanKind::kWait, 3e-6, 5.5e-6, "across"},
  });
  timeline.groups.push_back({"rank \"1\"", {{"other", {{SpanKind::kPack, 0, 1, "x"}}}}});
  const Json trace = Json::parse(timeline_trace(timeline));
  std::map<std::string, Json> spans;
  std::map<std::pair<int, int>, std::string> tracks;
  std::map<int, std::string> processes;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") spans[event["name"]] = event;
    if (event["name"] == "thread_name")
      tracks[{event["pid"], event["tid"]}] = event["args"]["name"];
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
  }
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans["call"]["tid"], spans["inside"]["tid"]);
  EXPECT_NE(spans["call"]["tid"], spans["across"]["tid"]);
  EXPECT_EQ(spans["across"]["ts"], 3.0);
  EXPECT_EQ(spans["across"]["dur"], 2.5);
  EXPECT_EQ(spans["across"]["cat"], "wait");
  EXPECT_EQ(tracks.size(), 3u);
  EXPECT_EQ((tracks[{0, 1}]), "lane (2)");
  EXPECT_EQ(processes[1], "rank \"1\"");
}

TEST(TimelineErrors, NameTheSpan) {
  for (const auto& [begin, end] : {std::pair{2.0, 1.0}, {-1.0, 1.0}, {0.0, 1.0 / 0.0}}) {
    const Timeline timeline = one_lane({{SpanKind::kWait, begin, end, "odd one"}});
    for (const auto& write : {timeline_html, timeline_trace}) {
      try {
        write(timeline);
        ADD_FAILURE() << "accepted " << begin << " to " << end;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
        EXPECT_NE(std::string(error.what()).find("'odd one' of lane 'lane'"), std::string::npos);
      }
    }
  }
}

TEST(TileTimeline, ShowsADeviceAndItsNeighboursWithTheShardsTheySee) {
  sim::TileTimes times;
  times.seconds = 4e-6;
  times.spans = {{sim::TileSpan::Lane::kMxu, 0, 1e-6, 0, 1, "product"},
                 {sim::TileSpan::Lane::kForward, 0, 1e-6, 0, 1, "send"},
                 {sim::TileSpan::Lane::kBackward, 0, 1e-6, 0, 1, "send"},
                 {sim::TileSpan::Lane::kHbm, 0, 1e-6, 0, -1, "y block 0"}};
  const Timeline timeline =
      sim::tile_timeline(times, {.title = "t", .num_devices = 8, .bound_seconds = 3e-6});
  ASSERT_EQ(timeline.groups.size(), 3u);
  const int devices[] = {7, 0, 1}, behind[] = {6, 7, 0}, ahead[] = {0, 1, 2};
  for (int i = 0; i < 3; ++i) {
    const TimelineGroup& group = timeline.groups[static_cast<std::size_t>(i)];
    EXPECT_EQ(group.name, "device " + std::to_string(devices[i]));
    ASSERT_EQ(group.lanes.size(), 5u);
    EXPECT_EQ(group.lanes[0].spans.at(0).text, "product, of shards " + std::to_string(behind[i]) +
                                                   " and " + std::to_string(ahead[i]) + ", step 0");
    EXPECT_EQ(group.lanes[1].spans.at(0).text, "y block 0, step 0");
    EXPECT_EQ(group.lanes[2].spans.at(0).text,
              "send, of shard " + std::to_string(behind[i]) + ", step 0");
    EXPECT_EQ(group.lanes[3].spans.at(0).text,
              "send, of shard " + std::to_string(ahead[i]) + ", step 0");
  }
  EXPECT_EQ(timeline.figures.at(2).value, "75.0 %");
  EXPECT_EQ(sim::tile_timeline(times, {.num_devices = 2}).groups.size(), 2u);
  EXPECT_EQ(sim::tile_timeline(times, {.num_devices = 1}).groups.size(), 1u);
}

}  // namespace
}  // namespace cmm
