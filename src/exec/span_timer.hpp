// Records a span of a trace from construction to destruction; one branch where there is no trace.
#pragma once

#include "base/deadline.hpp"
#include "cmm/trace.hpp"

namespace cmm::exec {

class SpanTimer {
 public:
  SpanTimer(Trace* trace, SpanKind kind, int rank, int thread, std::int64_t a = -1,
            std::int64_t b = -1)
      : trace_(trace) {
    if (trace_ != nullptr) span_ = {kind, rank, thread, now_ns(), 0, a, b};
  }
  ~SpanTimer() {
    if (trace_ == nullptr) return;
    span_.end_ns = now_ns();
    trace_->record(span_);
  }
  SpanTimer(const SpanTimer&) = delete;
  SpanTimer& operator=(const SpanTimer&) = delete;

 private:
  Trace* trace_;
  Span span_;
};

}  // namespace cmm::exec
