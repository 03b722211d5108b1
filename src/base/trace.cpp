#include "cmm/trace.hpp"

#include <algorithm>

namespace cmm {

std::string_view span_kind_name(SpanKind kind) {
  switch (kind) {
    case SpanKind::kCall:
      return "call";
    case SpanKind::kWait:
      return "wait";
    case SpanKind::kTransfer:
      return "transfer";
    case SpanKind::kPack:
      return "pack";
    case SpanKind::kMultiply:
      return "multiply";
    case SpanKind::kMemory:
      return "memory";
    case SpanKind::kForward:
      return "forward";
    case SpanKind::kBackward:
      return "backward";
  }
  return "unknown";
}

std::vector<Span> Trace::spans() const {
  const std::int64_t recorded = next_.load(std::memory_order_acquire);
  const auto count = std::min(recorded, static_cast<std::int64_t>(spans_.size()));
  return {spans_.begin(), spans_.begin() + count};
}

std::int64_t Trace::num_dropped() const {
  return std::max<std::int64_t>(
      0, next_.load(std::memory_order_acquire) - static_cast<std::int64_t>(spans_.size()));
}

}  // namespace cmm
