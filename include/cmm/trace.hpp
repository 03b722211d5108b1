// What the threads of the ranks did and when, for a timeline.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cmm {

// From kMemory on of simulated machines only: copies between a device's memories, and transfers
// that are known to go forward or backward.
enum class SpanKind : std::uint8_t {
  kCall,
  kWait,
  kTransfer,
  kPack,
  kMultiply,
  kMemory,
  kForward,
  kBackward
};

std::string_view span_kind_name(SpanKind kind);

struct Span {
  SpanKind kind = SpanKind::kCall;
  std::int32_t rank = 0;
  std::int32_t thread = 0;    // 0: the caller's
  std::int64_t begin_ns = 0;  // monotonic clock
  std::int64_t end_ns = 0;
  // kWait, kTransfer, kPack: chunk and the rank it came from (-1: none); kMultiply: first row and
  // first column of the block.
  std::int64_t a = -1;
  std::int64_t b = -1;
};

// A fixed store of spans that any number of threads may fill at once; recording neither allocates
// nor locks. What does not fit is counted, not kept.
class Trace {
 public:
  explicit Trace(std::int64_t capacity) : spans_(static_cast<std::size_t>(capacity)) {}

  void record(const Span& span) {
    const std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i < static_cast<std::int64_t>(spans_.size())) spans_[static_cast<std::size_t>(i)] = span;
  }
  // Only between calls: spans recorded so far, and how many did not fit.
  std::vector<Span> spans() const;
  std::int64_t num_dropped() const;
  void clear() { next_.store(0, std::memory_order_relaxed); }

 private:
  std::vector<Span> spans_;
  std::atomic<std::int64_t> next_{0};
};

}  // namespace cmm
