// Who goes on next.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "tpu/interpret/run_state.hpp"

namespace cmm::tpu {
namespace {

class Scheduler {
 public:
  // How long a device goes on and how fast copies are beside devices is drawn once for a run:
  // averages of all seeds alike would never show a copy that is very slow.
  explicit Scheduler(RunState& run) : run_(run) {
    constexpr std::array<std::int64_t, 3> kBursts = {1, 4, 32};
    longest_burst_ = kBursts[static_cast<std::size_t>(run.random.below(3))];
    constexpr std::array<std::int64_t, 3> kCopiesOfTen = {1, 5, 9};
    copies_of_ten_ = kCopiesOfTen[static_cast<std::size_t>(run.random.below(3))];
  }

  // False where nothing can go on.
  bool go_on() {
    const bool moving = run_.options.copies == CopyMode::kRandom && !run_.in_flight.empty();
    const bool copies_first = moving && run_.random.below(10) < copies_of_ten_;
    Device* device = copies_first ? nullptr : any_device();
    if (device == nullptr && moving) {
      progress(run_);
      return true;
    }
    if (device == nullptr) device = late_device();
    if (device == nullptr) return false;
    go_on(*device);
    return true;
  }

 private:
  // One that is able to go on, the late one excepted.
  Device* any_device() {
    const std::size_t num = run_.devices.size();
    auto at = static_cast<std::size_t>(run_.random.below(static_cast<std::int64_t>(num)));
    for (std::size_t i = 0; i < num; ++i, at = at + 1 == num ? 0 : at + 1) {
      Device& device = run_.devices[at];
      if (device.id != run_.options.late_device && can_step(run_, device)) return &device;
    }
    return nullptr;
  }
  Device* late_device() {
    const int late = run_.options.late_device;
    if (late < 0) return nullptr;
    Device& device = run_.devices[static_cast<std::size_t>(late)];
    return can_step(run_, device) ? &device : nullptr;
  }

  void go_on(Device& device) {
    const bool late = device.id == run_.options.late_device;
    std::int64_t burst = late ? 1 : 1 + run_.random.below(longest_burst_);
    while (burst-- > 0 && can_step(run_, device)) {
      const int call = device.call, at = device.at;
      try {
        step(run_, device);
      } catch (FaultFound& fault) {
        fault.device = device.id;
        fault.text = cat(call > 0 ? cat("call ", call, ", ") : "", where(run_, device.id, at), ": ",
                         fault.text);
        throw;
      }
      if (run_.options.max_steps > 0 && run_.result.num_statements > run_.options.max_steps) {
        throw FaultFound{Fault::Kind::kNoEnd,
                         cat(where(run_, device.id, at), ": no end after ", run_.options.max_steps,
                             " statements of all devices"),
                         device.id};
      }
    }
  }

  RunState& run_;
  std::int64_t longest_burst_ = 1;
  std::int64_t copies_of_ten_ = 5;
};

// What each device waits for. Of an eager or a random run nothing is in flight any more; where
// copies move only when they are awaited, none of those in flight would help.
[[noreturn]] void deadlock(const RunState& run) {
  using Row = std::array<std::string, 5>;
  std::vector<Row> rows = {{"device", "call", "semaphore", "has", "needs"}};
  std::vector<std::string> statements = {"statement"};
  int first = -1;
  for (const Device& device : run.devices) {
    const Device::Wait& wait = device.wait;
    if (wait.semaphore == nullptr) {
      rows.push_back({std::to_string(device.id), "", "", "", ""});
      statements.push_back("(has left)");
      continue;
    }
    if (first < 0) first = device.id;
    rows.push_back({std::to_string(device.id), std::to_string(device.call),
                    semaphore_name(run, device, wait.semaphore),
                    std::to_string(wait.semaphore->has()), std::to_string(wait.amount)});
    statements.push_back(statement_text(run, device.at - 1));
  }
  Row::size_type widths[std::tuple_size_v<Row>] = {};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text = "nobody can go on";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += "\n";
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      text += rows[i][j] + std::string(widths[j] - rows[i][j].size() + 2, ' ');
    }
    text += statements[i];
  }
  throw FaultFound{Fault::Kind::kDeadlock, text, first};
}

void barriers_are_zero(const RunState& run) {
  for (const Device& device : run.devices) {
    for (const Semaphore& semaphore : device.semaphores) {
      if (semaphore.has() == 0) continue;
      throw FaultFound{
          Fault::Kind::kSemaphoreNotZero,
          cat("when all devices have left, semaphore ", semaphore_name(run, device, &semaphore),
              " of device ", device.id, " is ", semaphore.has()),
          device.id};
    }
  }
}

}  // namespace

void run_to_the_end(RunState& run) {
  Scheduler scheduler(run);
  while (scheduler.go_on()) continue;
  for (const Device& device : run.devices) {
    if (device.state != Device::State::kDone) deadlock(run);
  }
  barriers_are_zero(run);
}

}  // namespace cmm::tpu
