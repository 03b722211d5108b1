// Named points of a call at which a test can hold up a thread or make it fail.
#pragma once

namespace cmm::exec {

enum class Point { kBegun, kOffered, kEntered, kArrived, kPacked, kClaimed, kBeforeDrain };

// Called on the thread that reaches the point; may sleep or throw. No hook: one branch a point.
struct Hook {
  void (*call)(void* context, Point point, int thread) = nullptr;
  void* context = nullptr;

  void operator()(Point point, int thread) const {
    if (call != nullptr) call(context, point, thread);
  }
};

}  // namespace cmm::exec
