#include "sim/timeline.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace cmm::sim {
namespace {

using Lane = TileSpan::Lane;

struct LaneStyle {
  Lane lane;
  const char* name;
  SpanKind kind;
};
constexpr std::array kLanes = {LaneStyle{Lane::kMxu, "MXU", SpanKind::kMultiply},
                               LaneStyle{Lane::kHbm, "HBM", SpanKind::kMemory},
                               LaneStyle{Lane::kForward, "link forward", SpanKind::kForward},
                               LaneStyle{Lane::kBackward, "link backward", SpanKind::kBackward},
                               LaneStyle{Lane::kWait, "waits", SpanKind::kWait}};

// Hop h of a device's forward stream is a half of the shard h places behind it, of its backward
// stream of the one h places ahead (schedule/tiles.hpp).
std::string shards_of(const TileSpan& span, int device, int num_devices) {
  if (span.hop < 0) return "";
  const int behind = ((device - span.hop) % num_devices + num_devices) % num_devices;
  const int ahead = (device + span.hop) % num_devices;
  if (span.lane == Lane::kForward) return cat(", of shard ", behind);
  if (span.lane == Lane::kBackward) return cat(", of shard ", ahead);
  return behind == ahead ? cat(", of shard ", behind) : cat(", of shards ", behind, " and ", ahead);
}

TimelineGroup group_of(const TileTimes& times, int device, int num_devices) {
  TimelineGroup group{cat("device ", device), {}};
  for (const LaneStyle& style : kLanes) {
    TimelineLane lane{style.name, {}};
    for (const TileSpan& span : times.spans) {
      if (span.lane != style.lane) continue;
      const std::string step = span.step < 0 ? "" : cat(", step ", span.step);
      lane.spans.push_back({style.kind, span.begin_seconds, span.end_seconds,
                            cat(span.text, shards_of(span, device, num_devices), step)});
    }
    group.lanes.push_back(std::move(lane));
  }
  return group;
}

std::string three_digits(double value) {
  char digits[32];
  const int decimals = std::fabs(value) < 10 ? 3 : std::fabs(value) < 100 ? 2 : 1;
  std::snprintf(digits, sizeof digits, "%.*f", decimals, value);
  return digits;
}

}  // namespace

std::string seconds_text(double seconds) {
  constexpr std::pair<double, const char*> kUnits[] = {{1, " s"}, {1e-3, " ms"}, {1e-6, " us"}};
  for (const auto& [size, unit] : kUnits)
    if (seconds >= size) return three_digits(seconds / size) + unit;
  return seconds == 0 ? "0 s" : three_digits(seconds / 1e-9) + " ns";
}

std::string percent_text(double share) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.1f %%", share * 100);
  return digits;
}

Timeline tile_timeline(const TileTimes& times, const TileTimelineText& text) {
  Timeline timeline{text.title, text.subtitle, {}, {}};
  const auto figure = [&](const char* name, const std::string& value) {
    timeline.figures.push_back({name, value});
  };
  figure("time", seconds_text(times.seconds));
  if (text.bound_seconds > 0) {
    figure("bound", seconds_text(text.bound_seconds));
    figure("share of bound", percent_text(text.bound_seconds / times.seconds));
  }
  figure("MXU busy", seconds_text(times.mxu_seconds));
  figure("control", seconds_text(times.control_seconds));
  figure("idle for x", seconds_text(times.idle_x_seconds));
  figure("idle for y", seconds_text(times.idle_y_seconds));
  figure("idle for output slots", seconds_text(times.idle_out_seconds));
  figure("idle otherwise", seconds_text(times.idle_other_seconds));
  figure("tail", seconds_text(times.tail_seconds));
  figure("exposed communication", seconds_text(times.exposed_seconds));
  figure("HBM busy", percent_text(times.hbm_busy));
  figure("busier link", percent_text(times.link_busy));
  const int P = text.num_devices;
  std::vector<int> devices = {0};
  if (P > 2) devices.insert(devices.begin(), P - 1);
  if (P > 1) devices.push_back(1);
  for (const int device : devices) timeline.groups.push_back(group_of(times, device, P));
  return timeline;
}

}  // namespace cmm::sim
