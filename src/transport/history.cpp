#include "transport/history.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/deadline.hpp"
#include "base/text.hpp"

namespace cmm::transport {
namespace {

constexpr int kRecent = 3;

}  // namespace

// A line of text that is built without allocating; what does not fit is cut.
class History::Line {
 public:
  Line& operator<<(std::string_view text) noexcept {
    const std::size_t bytes = std::min(text.size(), sizeof text_ - size_);
    std::memcpy(text_ + size_, text.data(), bytes);
    size_ += bytes;
    return *this;
  }
  Line& operator<<(std::uint64_t value) noexcept {
    char digits[20];
    std::size_t first = sizeof digits;
    do {
      digits[--first] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value > 0);
    return *this << std::string_view(digits + first, sizeof digits - first);
  }
  Line& operator<<(std::int64_t value) noexcept {
    if (value >= 0) return *this << static_cast<std::uint64_t>(value);
    return *this << "-" << (std::uint64_t{0} - static_cast<std::uint64_t>(value));
  }
  Line& operator<<(int value) noexcept { return *this << std::int64_t{value}; }
  Line& milliseconds(std::int64_t ns) noexcept {
    ns = std::max<std::int64_t>(ns, 0);
    const std::int64_t us = ns / 1000 % 1000;
    return *this << ns / 1'000'000 << "." << us / 100 << us / 10 % 10 << us % 10 << " ms";
  }

  std::string_view text() const noexcept { return {text_, size_}; }

 private:
  char text_[256];
  std::size_t size_ = 0;
};

// The fields are stored and loaded in order (release, acquire), so a reader that finds the same
// number before and after has read that operation's fields.
void History::begin(const Operation& operation) noexcept {
  const std::uint64_t number = num_begun_.load(std::memory_order_relaxed) + 1;
  Record& record = records_[slot(number)];
  constexpr auto order = std::memory_order_release;
  record.number.store(0, order);
  record.begin_ns.store(now_ns(), order);
  record.end_ns.store(0, order);
  record.call.store(0, order);
  record.m.store(operation.m, order);
  record.plan.store(operation.plan, order);
  record.num_chunks.store(operation.num_chunks, order);
  record.num_arrived.store(0, order);
  record.waiting_for.store(-1, order);
  record.kind.store(operation.kind, order);
  record.state.store(State::kEntered, order);
  record.number.store(number, order);
  current_ = &record;
  num_begun_.store(number, order);
}

void History::end(bool failed) noexcept {
  current_->end_ns.store(now_ns(), std::memory_order_release);
  if (!failed) waiting_for(-1);
  current_->state.store(failed ? State::kFailed : State::kDone, std::memory_order_release);
}

bool History::describe(std::uint64_t number, std::int64_t now, Line& line) const noexcept {
  const Record& record = records_[slot(number)];
  constexpr auto order = std::memory_order_acquire;
  if (record.number.load(order) != number) return false;
  const State state = record.state.load(order);
  const std::int64_t begin_ns = record.begin_ns.load(order);
  const bool ended = state == State::kDone || state == State::kFailed;
  line << "#" << number << " ";
  const Kind kind = record.kind.load(order);
  switch (kind) {
    case Kind::kPlan:
      line << "Plan::make";
      if (const int plan = record.plan.load(order); plan > 0) line << " of plan " << plan;
      line << ", m=" << record.m.load(order);
      break;
    case Kind::kExchange:
      line << "exchange";
      break;
    case Kind::kBarrier:
      line << "barrier";
      break;
    case Kind::kMultiply:
    case Kind::kGather:
      line << (kind == Kind::kMultiply ? "all_gather_matmul" : "all_gather") << ", call "
           << record.call.load(order) << " of plan " << record.plan.load(order)
           << ", m=" << record.m.load(order);
      break;
  }
  line << (state == State::kDone     ? ": done in "
           : state == State::kFailed ? ": failed after "
                                     : ": going on for ");
  line.milliseconds((ended ? record.end_ns.load(order) : now) - begin_ns);
  if (const int num_chunks = record.num_chunks.load(order);
      num_chunks > 0 && state != State::kDone) {
    line << ", " << record.num_arrived.load(order) << " of " << num_chunks << " chunks arrived";
  }
  if (state == State::kMultiplied) line << ", multiplied, not yet read by all";
  if (const int peer = record.waiting_for.load(order); peer >= 0) {
    line << (ended ? ", waited for rank " : ", waits for rank ") << peer;
  }
  return record.number.load(std::memory_order_relaxed) == number;
}

template <class Use>
void History::for_last(int most, Use use) const {
  const std::uint64_t num_begun = num_begun_.load(std::memory_order_acquire);
  const std::uint64_t count = std::min<std::uint64_t>(num_begun, static_cast<unsigned>(most));
  const std::int64_t now = now_ns();
  for (std::uint64_t number = num_begun - count + 1; number <= num_begun; ++number) {
    Line line;
    if (describe(number, now, line)) use(line.text());
  }
}

void History::describe_owner(std::string_view owner, Line& line) const noexcept {
  const std::uint64_t num_begun = num_begun_.load(std::memory_order_acquire);
  line << owner << ": " << num_begun << (num_begun == 1 ? " operation" : " operations");
  if (num_begun > kLength) line << ", the last " << kLength << " of them";
}

void History::write(int fd, std::string_view owner) const noexcept {
  const int saved_errno = errno;  // a handler must leave it as it was
  const auto write_line = [fd](std::string_view indent, std::string_view text) noexcept {
    Line line;
    line << indent << text.substr(0, 250) << "\n";
    std::string_view rest = line.text();
    while (!rest.empty()) {
      const ssize_t written = ::write(fd, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return;  // nobody to tell
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
  };
  Line heading;
  describe_owner(owner, heading);
  write_line("", heading.text());
  for_last(kLength, [&](std::string_view text) noexcept { write_line("  ", text); });
  errno = saved_errno;
}

std::string History::text(std::string_view owner) const {
  Line heading;
  describe_owner(owner, heading);
  std::string all(heading.text());
  all += '\n';
  for_last(kLength, [&](std::string_view text) { (all += "  ").append(text) += '\n'; });
  return all;
}

std::string History::recent(int rank) const {
  std::string all;
  for_last(kRecent, [&](std::string_view text) {
    all += all.empty() ? cat("; last operations of rank ", rank, ": ") : "; ";
    all += text;
  });
  return all;
}

}  // namespace cmm::transport
