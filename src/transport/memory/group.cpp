#include "transport/memory/group.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/fence.hpp"
#include "base/futex.hpp"
#include "base/text.hpp"

namespace cmm::transport::memory {
namespace {

// A sleeper wakes by itself this often, to look at its deadline and at its peers' processes.
constexpr std::chrono::microseconds kNap{2000};
constexpr std::int64_t kCheckPeersNs = 1'000'000;

// No text of an exchange is this long; a longer one is memory that a peer has spoilt.
constexpr std::uint64_t kMaxTextBytes = std::uint64_t{1} << 32;

template <std::size_t N>
void copy_text(char (&to)[N], std::string_view from) {
  const std::size_t length = std::min(from.size(), N - 1);
  std::memcpy(to, from.data(), length);
  to[length] = '\0';
}

template <std::size_t N>
std::string text_of(const char (&from)[N]) {
  return std::string(from, ::strnlen(from, N));
}

constexpr std::uint64_t kKindMask = (std::uint64_t{1} << kKindBits) - 1;

}  // namespace

Group::Group(const Config& config) : config_(config) {}

void Group::enter(std::uint64_t kind) {
  mine().operation.store((++sequence_ << kKindBits) | (kind & kKindMask),
                         std::memory_order_release);
}

void Group::await_all(Counter Member::*counter, std::uint64_t value, const Deadline& deadline,
                      Dozer& dozer) {
  Wait wait(dozer);
  for (int index = 0; index < size(); ++index) {
    const Counter& count = member(index).*counter;
    while (count.load(std::memory_order_acquire) < value) {
      wait.pause();
      if (!wait.time_to_check()) continue;
      history()->waiting_for(rank_of(index));
      // Looked at before the count: a rank that counts and then fails or leaves has taken part.
      const bool ended = dead();
      const bool gone = left(index);
      if (count.load(std::memory_order_acquire) >= value) break;
      if (ended) throw cause();
      if (gone) throw_left(index);
      if (wait.expired(deadline)) {
        const int at_fault = held_up_by(index);
        fail(Error(
            ErrorCode::kDeadline,
            cat("rank ", rank_of(config_.index), " waited ", deadline.limit_ms(), " ms for rank ",
                rank_of(index), " to make a plan or exchange a text; ",
                at_fault == rank_of(index) ? silence_of(index)
                                           : cat("that one waits, in the end for rank ", at_fault),
                history()->recent(rank_of(config_.index))),
            at_fault));
        throw cause();
      }
    }
  }
}

// Texts longer than a Member holds take several rounds; all ranks make as many as the longest
// needs.
std::vector<std::string> Group::exchange(const std::string& text, const Deadline& deadline,
                                         Purpose purpose, Dozer* dozer) {
  Dozer& sleeper = dozer != nullptr ? *dozer : *this;
  enter(static_cast<std::uint64_t>(purpose));
  const std::uint64_t ours = mine().operation.load(std::memory_order_relaxed);
  {
    const std::lock_guard lock(retired_mutex_);  // any thread may let a block go
    ++num_exchanges_;
  }
  std::vector<std::string> all(static_cast<std::size_t>(size()));
  std::vector<std::uint64_t> total_bytes(all.size());
  std::uint64_t rounds = 1;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t number = ++num_rounds_;
    // Our text of the round before may be overwritten once everybody has read it.
    await_all(&Member::read, number - 1, deadline, sleeper);
    const std::size_t begin = std::min(text.size(), round * kTextBytes);
    std::memcpy(mine().text, text.data() + begin, std::min(text.size() - begin, kTextBytes));
    mine().total_bytes = text.size();
    mine().exchange = ours;
    mine().written.store(number, std::memory_order_release);
    wake_all();
    await_all(&Member::written, number, deadline, sleeper);
    for (int index = 0; index < size(); ++index) {
      const auto i = static_cast<std::size_t>(index);
      if (round == 0) {
        if (member(index).exchange != ours) throw_disagreement(index, member(index).exchange);
        total_bytes[i] = member(index).total_bytes;
        if (total_bytes[i] > kMaxTextBytes) {
          fail(Error(ErrorCode::kPeerFailed,
                     cat("rank ", rank_of(index), " exchanges a text of ", total_bytes[i],
                         " bytes; at most ", kMaxTextBytes, " are possible"),
                     rank_of(index)));
          throw cause();
        }
        rounds = std::max(rounds, (total_bytes[i] + kTextBytes - 1) / kTextBytes);
      }
      const std::uint64_t left_bytes = total_bytes[i] - all[i].size();
      all[i].append(member(index).text,
                    static_cast<std::size_t>(std::min<std::uint64_t>(left_bytes, kTextBytes)));
    }
    mine().read.store(number, std::memory_order_release);
    wake_all();
  }
  free_retired();
  return all;
}

Block Group::allocate(std::int64_t bytes) {
  std::byte* data = space().allocate(bytes);
  return {std::shared_ptr<std::byte>(
              data, [self = shared_from_this(), bytes](std::byte* p) { self->retire(p, bytes); }),
          bytes};
}

void Group::retire(std::byte* data, std::int64_t bytes) noexcept {
  // Another thread may have held the lock when this process was forked; the block is its parent's.
  if (!space().owned_by_this_process()) return;
  try {
    const std::lock_guard lock(retired_mutex_);
    retired_.push_back({data, bytes, num_exchanges_});
  } catch (...) {
    // No memory for the list: the block stays taken until the space goes.
  }
}

// After an exchange: all ranks have begun it, so none is in a call from before it.
void Group::free_retired() {
  const std::lock_guard lock(retired_mutex_);
  const auto keep = std::partition(retired_.begin(), retired_.end(), [&](const Retired& block) {
    return block.num_exchanges >= num_exchanges_;
  });
  for (auto block = keep; block != retired_.end(); ++block) {
    space().deallocate(block->data, block->bytes);
  }
  retired_.erase(keep, retired_.end());
}

void Group::fail(const Error& error) {
  {
    const std::lock_guard lock(failure_mutex_);
    if (failed_) return;
    failed_ = true;
    Cause& cause = mine().cause;
    cause.code = static_cast<std::int32_t>(error.code());
    cause.rank = error.rank();
    copy_text(cause.text, error.what());
    std::int32_t alive = 0;
    // Sequentially consistent: see set_reading. Before the lock goes: another thread of this rank
    // that fails too finds the group dead when its fail() returns.
    control().failed_by.compare_exchange_strong(alive, config_.index + 1);
  }
  wake_all();
}

Error Group::cause() const {
  const int index = control().failed_by.load(std::memory_order_acquire) - 1;
  if (index < 0 || index >= size()) {
    return Error(ErrorCode::kPeerFailed, "a peer has spoilt the memory that the ranks share");
  }
  const Cause& cause = member(index).cause;
  const auto last = static_cast<std::int32_t>(ErrorCode::kIo);
  const auto code = cause.code >= 0 && cause.code <= last ? static_cast<ErrorCode>(cause.code)
                                                          : ErrorCode::kPeerFailed;
  const Error error(code, text_of(cause.text), cause.rank);
  return index == config_.index ? error : told_to_peers(error, rank_of(index));
}

// A failing rank sets failed_by and then looks at `reading`; a rank that enters sets `reading` and
// then looks at failed_by. All in one total order, so one of the two sees the other.
void Group::set_reading(bool reading) {
  if (!reading) {
    mine().reading.store(0, std::memory_order_release);
    return;
  }
  mine().reading.store(1);
  if (control().failed_by.load() == 0) return;
  mine().reading.store(0, std::memory_order_release);
  throw cause();
}

int Group::await_readers(std::chrono::milliseconds limit) const {
  const Deadline deadline(limit);
  for (int index = 0; index < size(); ++index) {
    if (index == config_.index) continue;
    Backoff backoff;
    while (member(index).reading.load() != 0) {
      if (backoff.time_to_check() && deadline.expired()) return index;
      backoff.pause();
    }
  }
  return -1;
}

void Group::leave(const char* reason) noexcept {
  Member& me = mine();
  if (me.left.load(std::memory_order_relaxed) != 0) return;
  copy_text(me.left_reason, reason);
  me.left.store(1, std::memory_order_release);
  wake_all();
}

void Group::check_usable() const {
  if (dead()) {
    const Error known = cause();
    if (!told_.exchange(true, std::memory_order_relaxed)) throw known;
    throw Error(ErrorCode::kMeshDead,
                cat("the mesh is dead since an earlier call failed; make a new one. The cause: ",
                    known.what()),
                known.rank());
  }
  if (!left(config_.index)) return;
  throw Error(ErrorCode::kInvalidArgument,
              cat("rank ", rank_of(config_.index), " has left the mesh (",
                  text_of(mine().left_reason), ") and makes no more calls on it"),
              rank_of(config_.index));
}

void Group::throw_left(int index) {
  fail(Error(
      ErrorCode::kPeerFailed,
      cat("rank ", rank_of(index), " has left the mesh: ", text_of(member(index).left_reason)),
      rank_of(index)));
  throw cause();
}

std::string Group::silence_of(int index) const {
  return cat("it is silent, not dead: ",
             space().description_of(config_.members[static_cast<std::size_t>(index)]));
}

int Group::held_up_by(int index) {
  struct Seen {
    std::int32_t waits_for;
    std::uint32_t num_dozes;
  };
  std::vector<Seen> seen;
  for (int i = 0; i < size(); ++i) {
    seen.push_back({member(i).waits_for.load(std::memory_order_relaxed),
                    member(i).num_dozes.load(std::memory_order_relaxed)});
  }
  // Five naps of a rank that waits. Peers that come here at the same time must not take this rank
  // for a frozen one.
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    count_doze();
  }
  int at_fault = rank_of(index);
  for (int hop = 0; hop < size(); ++hop) {
    const auto at = std::find(config_.ranks.begin(), config_.ranks.end(), at_fault);
    if (at == config_.ranks.end()) return at_fault;  // not of this group: no more is known
    const auto i = at - config_.ranks.begin();
    const bool waits = seen[static_cast<std::size_t>(i)].waits_for != 0 &&
                       member(static_cast<int>(i)).num_dozes.load(std::memory_order_relaxed) !=
                           seen[static_cast<std::size_t>(i)].num_dozes;
    if (!waits) return at_fault;
    at_fault = seen[static_cast<std::size_t>(i)].waits_for - 1;
  }
  return rank_of(index);  // they wait in a circle
}

void Group::check_peers() {
  check_alive();
  for (int index = 0; index < size(); ++index) {
    if (index == config_.index) continue;
    const int member_number = config_.members[static_cast<std::size_t>(index)];
    // A rank that has left may end; it has left before it ended.
    if (space().ended(member_number) && !left(index)) {
      fail(Error(ErrorCode::kPeerFailed,
                 cat("rank ", rank_of(index), " is gone: ", space().description_of(member_number),
                     history()->recent(rank_of(config_.index))),
                 rank_of(index)));
      throw cause();
    }
    check_operation(index);
  }
}

void Group::check_operation(int index) {
  const std::uint64_t ours = mine().operation.load(std::memory_order_relaxed);
  const std::uint64_t theirs = member(index).operation.load(std::memory_order_acquire);
  if (theirs >> kKindBits != ours >> kKindBits || theirs == ours) return;
  throw_disagreement(index, theirs);
}

// Alike on both ranks, whichever of them finds it.
void Group::throw_disagreement(int index, std::uint64_t theirs) {
  std::uint64_t operations[] = {mine().operation.load(std::memory_order_relaxed), theirs};
  int ranks[] = {rank_of(config_.index), rank_of(index)};
  if (ranks[0] > ranks[1]) {
    std::swap(ranks[0], ranks[1]);
    std::swap(operations[0], operations[1]);
  }
  const std::uint64_t numbers[] = {operations[0] >> kKindBits, operations[1] >> kKindBits};
  fail(Error(
      ErrorCode::kInvalidArgument,
      cat("ranks disagree on the order of calls: in operation ", numbers[0], " of the axis rank ",
          ranks[0], " ", describe_kind(operations[0] & kKindMask), ", rank ", ranks[1],
          numbers[0] == numbers[1] ? "" : cat(", in operation ", numbers[1], ","), " ",
          describe_kind(operations[1] & kKindMask))));
  throw cause();
}

void Group::doze() {
  check_alive();
  const std::int64_t now = now_ns();
  if (now - checked_ns_ > kCheckPeersNs) {
    checked_ns_ = now;
    check_peers();
  }
  mine().waits_for.store(history()->awaited() + 1, std::memory_order_relaxed);
  count_doze();
  std::atomic<std::uint32_t>& doorbell = mine().doorbell;
  if (announced_) {
    futex_wait(doorbell, bell_, kNap);
  } else {
    announced_ = true;
    mine().asleep.store(1, std::memory_order_relaxed);
    full_fence();  // announced before the looks that follow
  }
  bell_ = doorbell.load(std::memory_order_acquire);
}

void Group::count_doze() {
  std::atomic<std::uint32_t>& count = mine().num_dozes;
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void Group::rise() {
  announced_ = false;
  mine().waits_for.store(0, std::memory_order_relaxed);
  mine().asleep.store(0, std::memory_order_relaxed);
}

namespace {

void ring(Member& sleeper) {
  if (sleeper.asleep.load(std::memory_order_relaxed) == 0) return;
  sleeper.doorbell.fetch_add(1, std::memory_order_release);
  futex_wake(sleeper.doorbell);
}

}  // namespace

// The fence: what happened is visible before we look for sleepers.
void Group::wake(std::span<const int> indexes) {
  full_fence();
  for (const int index : indexes) ring(member(index));
}

void Group::wake_all() {
  full_fence();
  for (int index = 0; index < size(); ++index) {
    if (index != config_.index) ring(member(index));
  }
}

}  // namespace cmm::transport::memory
