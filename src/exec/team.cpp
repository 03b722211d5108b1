#include "exec/team.hpp"

#include <exception>

#include "base/backoff.hpp"
#include "base/fence.hpp"
#include "base/futex.hpp"
#include "base/process_id.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm::exec {
namespace {

// A thread that fails does not come to the barrier and wakes nobody: sleepers look this often.
constexpr std::chrono::microseconds kNap{5000};

}  // namespace

Team::Team(int num_threads) : made_by_(process_id()) {
  helpers_.reserve(static_cast<std::size_t>(num_threads - 1));
  try {
    for (int thread = 1; thread < num_threads; ++thread) {
      helpers_.emplace_back([this, thread] { serve(thread); });
    }
  } catch (const std::exception& error) {
    const std::size_t num_made = helpers_.size();
    stop();
    throw Error(ErrorCode::kOutOfMemory, cat("the system gave ", num_made + 1, " of ", num_threads,
                                             " threads for a rank: ", error.what()));
  }
}

Team::~Team() { stop(); }

void Team::stop() {
  if (process_id() != made_by_) {  // in a forked child, which has no helpers to wait for
    for (std::thread& helper : helpers_) helper.detach();
    helpers_.clear();
    return;
  }
  stopping_.store(true, std::memory_order_relaxed);
  num_started_.fetch_add(1, std::memory_order_release);
  num_started_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
  helpers_.clear();
}

void Team::run(Task task, void* context) {
  if (helpers_.empty()) {
    task(context, 0);
    return;
  }
  task_ = task;
  context_ = context;
  const std::uint64_t run = num_started_.fetch_add(1, std::memory_order_release) + 1;
  num_started_.notify_all();
  task(context, 0);
  // The helpers run the same task and end with it, so this wait is as long as the task's own.
  Backoff backoff;
  while (num_ended_.load(std::memory_order_acquire) < run * helpers_.size()) backoff.pause();
}

void Team::serve(int thread) {
  for (std::uint64_t run = 0;; ++run) {
    // Awake for a while, since a decoding engine calls again at once; yielding, since a rank that
    // multiplies may need the core.
    for (Backoff backoff; backoff.awake() && num_started_.load(std::memory_order_acquire) == run;) {
      backoff.pause();
    }
    num_started_.wait(run, std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;
    task_(context_, thread);
    num_ended_.fetch_add(1, std::memory_order_release);
  }
}

// Threads of a rank that waits for its peers have nothing to do for as long; asleep, they cost none
// of the time that those peers may need.
bool Barrier::meet(std::uint64_t& round, const std::atomic<bool>& failed) {
  const std::uint64_t all = ++round * num_threads_;
  if (num_arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == all) {
    full_fence();  // arrived before we look for sleepers
    if (num_asleep_.load(std::memory_order_relaxed) > 0) {
      bell_.fetch_add(1, std::memory_order_release);
      futex_wake(bell_);
    }
    return !failed.load(std::memory_order_acquire);
  }
  Backoff backoff;
  while (num_arrived_.load(std::memory_order_acquire) < all) {
    if (failed.load(std::memory_order_acquire)) return false;
    if (backoff.awake()) {
      backoff.pause();
      continue;
    }
    const std::uint32_t bell = bell_.load(std::memory_order_acquire);
    num_asleep_.fetch_add(1, std::memory_order_relaxed);
    full_fence();  // counted as asleep before the last look
    if (num_arrived_.load(std::memory_order_acquire) < all) futex_wait(bell_, bell, kNap);
    num_asleep_.fetch_sub(1, std::memory_order_relaxed);
  }
  return !failed.load(std::memory_order_acquire);
}

}  // namespace cmm::exec
