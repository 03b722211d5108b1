// Where the devices of one call meet.
//
// The last device of a call to come multiplies for all. The others wait for it a moment, which is
// the shortest way to go on where calls are short; then they leave a future and go. So no thread of
// the runtime is held here for long, and devices may come to independent calls in any order.
//
//   device 0   copies its rows of x, waits a moment, goes|                    goes on
//   device 1        copies its rows of x, waits a moment |                    goes on
//   device 2                copies its rows of x         | multiplies for all goes on
//
// Devices have no early start while others are late, as ranks of processes have: they share the
// cores that the late ones need.
#pragma once

#include <chrono>
#include <compare>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime.hpp"
#include "site.hpp"

namespace cmm::python::ffi {

using Clock = std::chrono::steady_clock;

// One call of one group of ranks. The runtime gives each launch of a program a run id, the same on
// all devices; in a loop, a site is called several times in a run.
struct CallId {
  std::int64_t site = 0;
  std::int64_t run = 0;
  std::int64_t number = 0;  // of the calls of this site and rank in this run
  int group = 0;
  friend auto operator<=>(const CallId&, const CallId&) = default;
};

// What a device has left. No future: it waits, or is the last.
struct Arrival {
  Operands operands = {};
  const xla::Api* api = nullptr;
  xla::Future* future = nullptr;
};

struct Meeting {
  CallId id = {};
  std::chrono::milliseconds deadline_after{0};
  Clock::time_point deadline = {};  // for all to come; once failed, for the rest to hear of it
  std::shared_ptr<std::byte> gathered = {};  // x [m, k]; one rank: none, x is read where it lies
  std::vector<bool> arrived = {};            // by rank
  std::vector<Arrival> arrivals = {};        // by rank
  int num_arrived = 0;
  bool complete = false;
  std::optional<xla::Failure> failure = {};
  std::condition_variable ended = {};  // complete or failed
};

class Meetings {
 public:
  static Meetings& instance();

  // The device at `place` has come to a call of the site: the meeting it belongs to. The device
  // then copies its rows to meeting->gathered and arrives. Throws Failed, std::bad_alloc.
  struct Failed {
    xla::Failure failure;
  };
  std::shared_ptr<Meeting> enter(Site& site, std::int64_t run, const Place& place);

  // The device's rows are copied. The last to arrive multiplies, and then ends the meeting. For the
  // others, the call is over, or goes on until the future is complete. Throws Failed where the call
  // has failed, std::runtime_error.
  struct Arrived {
    bool last = false;
    xla::Future* future = nullptr;
  };
  Arrived arrive(Meeting& meeting, int rank, const xla::Api& api, Operands operands);

  // By the last device: what becomes of the call. Others go on: those that wait return from
  // arrive(); for those that have left a future, go_on(arrival) is called, each on a thread of its
  // own, and completes it. Futures of a failed call complete with the failure.
  void end(const std::shared_ptr<Meeting>& meeting, const std::optional<xla::Failure>& failure,
           const std::function<void(const Arrival&)>& go_on);

  // A device has failed at the site: tells all that wait there in this run, and all yet to come.
  void fail(Site& site, std::int64_t run, const xla::Failure& failure);

  int num_open();

 private:
  // The devices that wait, to be told once the lock is free: they may go on at once. Empty where
  // the meeting had failed already.
  static std::vector<Arrival> mark_failed(Meeting& meeting, const xla::Failure& failure);
  void watch_until(Clock::time_point time);
  void watch();

  std::mutex mutex_;
  std::map<CallId, std::shared_ptr<Meeting>> open_;
  std::condition_variable watch_;
  bool watched_ = false;
  Clock::time_point next_look_ = Clock::time_point::max();
};

}  // namespace cmm::python::ffi
