// What one rank did last on one axis: for the message of a failure, and for a program that asks
// its ranks from a signal handler what they are waiting for.
//
// Writing costs some stores to lines of this rank's own; nothing here allocates, locks or blocks,
// but for the functions that give a string.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace cmm::transport {

class History {
 public:
  static constexpr int kLength = 64;

  enum class Kind : std::uint8_t { kPlan, kExchange, kBarrier, kMultiply, kGather };
  struct Operation {
    Kind kind = Kind::kExchange;
    int plan = 0;  // counted from 1 along the axis
    std::int64_t m = 0;
    int num_chunks = 0;
  };

  // One operation at a time, by one thread.
  void begin(const Operation& operation) noexcept;
  void end(bool failed) noexcept;

  // About the operation that goes on. The number of chunks that have arrived is written by one
  // thread at a time, the rest by the thread that began.
  void planned(int plan) noexcept { current_->plan.store(plan, std::memory_order_release); }
  void called(std::uint64_t call) noexcept {  // counted from 1 along the plan
    current_->call.store(call, std::memory_order_release);
  }
  void arrived(int num_chunks) noexcept {
    current_->num_arrived.store(num_chunks, std::memory_order_release);
  }
  void waiting_for(int rank) noexcept {  // -1: for none
    current_->waiting_for.store(rank, std::memory_order_release);
  }
  // When it began: one look at the clock serves the history and the deadline.
  std::int64_t begin_ns() const noexcept {
    return current_->begin_ns.load(std::memory_order_relaxed);
  }
  int awaited() const noexcept { return current_->waiting_for.load(std::memory_order_relaxed); }
  void multiplied() noexcept {
    current_->state.store(State::kMultiplied, std::memory_order_release);
  }

  // The rest may be called by any thread, and from a signal handler where it says noexcept.

  // One line for each of the last operations, the oldest first, below a line that begins with
  // `owner`.
  void write(int fd, std::string_view owner) const noexcept;
  std::string text(std::string_view owner) const;
  // The last few in one line, to end a message of rank `rank` with; empty where there are none.
  std::string recent(int rank) const;

 private:
  enum class State : std::uint8_t { kEntered, kMultiplied, kDone, kFailed };
  // Another thread may look while this is written: `number` is 0 meanwhile, and is compared before
  // and after.
  struct alignas(64) Record {
    std::atomic<std::uint64_t> number{0};  // counted from 1
    std::atomic<std::int64_t> begin_ns{0};
    std::atomic<std::int64_t> end_ns{0};
    std::atomic<std::uint64_t> call{0};
    std::atomic<std::int64_t> m{0};
    std::atomic<int> plan{0};
    std::atomic<int> num_chunks{0};
    std::atomic<int> num_arrived{0};
    std::atomic<int> waiting_for{-1};
    std::atomic<Kind> kind{Kind::kExchange};
    std::atomic<State> state{State::kEntered};
  };
  class Line;

  static std::size_t slot(std::uint64_t number) {
    return static_cast<std::size_t>(number % kLength);
  }
  // False where the operation is not there any more.
  bool describe(std::uint64_t number, std::int64_t now_ns, Line& line) const noexcept;
  void describe_owner(std::string_view owner, Line& line) const noexcept;
  template <class Use>
  void for_last(int most, Use use) const;

  std::atomic<std::uint64_t> num_begun_{0};
  std::array<Record, kLength> records_;
  Record* current_ = &records_[0];  // the first operation's is the next
};

}  // namespace cmm::transport
