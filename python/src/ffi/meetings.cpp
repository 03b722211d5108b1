#include "meetings.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "cmm/error.hpp"
#include "finishers.hpp"
#include "scratch.hpp"

namespace cmm::python::ffi {
namespace {

// How long a device waits for the others before it leaves a future. A future takes two more changes
// of thread, some tens of microseconds; a device that waits in vain comes late to its other calls.
constexpr std::chrono::microseconds kPatience{200};

std::string ranks_text(const std::vector<bool>& arrived, bool value) {
  std::string text;
  for (std::size_t rank = 0; rank < arrived.size(); ++rank) {
    if (arrived[rank] == value) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  }
  return text;
}

xla::Failure deadline_failure(const Meeting& meeting) {
  return {xla::ErrorCode::kDeadlineExceeded,
          "after " + std::to_string(meeting.deadline_after.count()) + " ms, rank(s) " +
              ranks_text(meeting.arrived, false) + " of " + std::to_string(meeting.arrived.size()) +
              " have not come to call " + std::to_string(meeting.id.number) +
              " of a launch, group " + std::to_string(meeting.id.group) + "; rank(s) " +
              ranks_text(meeting.arrived, true) +
              " are there. A device has failed before this call or does not make it, or the "
              "runtime has too few threads (PJRT_NPROC)"};
}

void tell(const std::vector<Arrival>& waiting, const xla::Failure& failure) {
  for (const Arrival& arrival : waiting) {
    Finishers::instance().post([api = arrival.api, future = arrival.future, failure] {
      xla::complete(*api, future, failure);
    });
  }
}

}  // namespace

Meetings& Meetings::instance() {
  static Meetings& meetings = *new Meetings;  // never destroyed: its thread uses it
  return meetings;
}

std::shared_ptr<Meeting> Meetings::enter(Site& site, std::int64_t run, const Place& place) {
  const SiteOptions& options = site.options();
  const std::lock_guard lock(mutex_);
  if (site.failed_run() && site.failed_run()->run == run) throw Failed{site.failed_run()->failure};
  Site::Counter& counter = site.counter(place);
  if (counter.run != run) counter = {run, 0};
  const CallId id{site.id(), run, counter.num_calls++, place.group};
  const auto found = open_.find(id);
  if (found != open_.end()) return found->second;
  const auto num_ranks = static_cast<std::size_t>(options.num_ranks);
  auto meeting = std::make_shared<Meeting>();
  meeting->id = id;
  meeting->deadline_after = options.deadline;
  meeting->deadline = Clock::now() + options.deadline;
  if (num_ranks > 1) {
    meeting->gathered = take_scratch(options.num_ranks * site.shape().shard_bytes());
  }
  meeting->arrived.resize(num_ranks);
  meeting->arrivals.resize(num_ranks);
  if (num_ranks > 1) watch_until(meeting->deadline);
  open_.emplace(id, meeting);
  return meeting;
}

Meetings::Arrived Meetings::arrive(Meeting& meeting, int rank, const xla::Api& api,
                                   Operands operands) {
  std::unique_lock lock(mutex_);
  const auto index = static_cast<std::size_t>(rank);
  const bool last = ++meeting.num_arrived == static_cast<int>(meeting.arrivals.size());
  meeting.arrived[index] = true;
  if (last) open_.erase(meeting.id);
  if (meeting.failure) throw Failed{*meeting.failure};
  Arrival& arrival = meeting.arrivals[index];
  arrival = {std::move(operands), &api, nullptr};
  if (last) return {.last = true};
  meeting.ended.wait_for(lock, kPatience, [&] { return meeting.complete || meeting.failure; });
  if (meeting.failure) throw Failed{*meeting.failure};
  if (!meeting.complete) arrival.future = xla::make_future(api);
  return {.future = arrival.future};
}

void Meetings::end(const std::shared_ptr<Meeting>& meeting,
                   const std::optional<xla::Failure>& failure,
                   const std::function<void(const Arrival&)>& go_on) {
  if (failure) {
    std::unique_lock lock(mutex_);
    const std::vector<Arrival> waiting = mark_failed(*meeting, *failure);
    lock.unlock();
    tell(waiting, *failure);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    meeting->complete = true;
  }
  meeting->ended.notify_all();
  // From here on, none leaves a future any more.
  for (const Arrival& arrival : meeting->arrivals) {
    if (arrival.future == nullptr) continue;
    Finishers::instance().post([meeting, &arrival, go_on] { go_on(arrival); });
  }
}

void Meetings::fail(Site& site, std::int64_t run, const xla::Failure& failure) {
  std::vector<Arrival> waiting;
  {
    const std::lock_guard lock(mutex_);
    site.failed_run() = Site::FailedRun{run, failure};
    for (auto it = open_.lower_bound({.site = site.id(), .run = run});
         it != open_.end() && it->first.site == site.id() && it->first.run == run;
         it = open_.erase(it)) {
      const std::vector<Arrival> there = mark_failed(*it->second, failure);
      waiting.insert(waiting.end(), there.begin(), there.end());
    }
  }
  tell(waiting, failure);
}

std::vector<Arrival> Meetings::mark_failed(Meeting& meeting, const xla::Failure& failure) {
  std::vector<Arrival> waiting;
  if (meeting.failure) return waiting;
  meeting.failure = failure;
  meeting.deadline = Clock::now() + meeting.deadline_after;
  meeting.ended.notify_all();
  for (const Arrival& arrival : meeting.arrivals) {
    if (arrival.future != nullptr) waiting.push_back(arrival);
  }
  return waiting;
}

// The watcher is woken only for a deadline that comes before its next look, so in steady use it
// wakes once per deadline, not once per call.
void Meetings::watch_until(Clock::time_point time) {
  if (!watched_) {
    std::thread([this] { watch(); }).detach();
    watched_ = true;
  }
  if (time >= next_look_) return;
  next_look_ = time;
  watch_.notify_one();
}

void Meetings::watch() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (next_look_ == Clock::time_point::max()) {
      watch_.wait(lock);
    } else {
      watch_.wait_until(lock, next_look_);
    }
    const Clock::time_point now = Clock::now();
    struct Overdue {
      std::vector<Arrival> waiting;
      xla::Failure failure;
    };
    std::vector<Overdue> overdue;
    next_look_ = Clock::time_point::max();
    // All are marked under one lock: one that is marked later may have its last device by then.
    for (auto it = open_.begin(); it != open_.end();) {
      Meeting& meeting = *it->second;
      if (meeting.deadline <= now && meeting.failure) {
        it = open_.erase(it);
        continue;
      }
      if (meeting.deadline <= now) {
        const xla::Failure failure = deadline_failure(meeting);
        overdue.push_back({mark_failed(meeting, failure), failure});
      }
      next_look_ = std::min(next_look_, meeting.deadline);
      ++it;
    }
    lock.unlock();
    for (const auto& [waiting, failure] : overdue) tell(waiting, failure);
    lock.lock();
  }
}

int Meetings::num_open() {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(open_.size());
}

}  // namespace cmm::python::ffi
