#include "transport/threads/group.hpp"

#include "base/backoff.hpp"
#include "base/text.hpp"

namespace cmm::transport::threads {

Board::Board(int num_ranks, int num_chunks_of_plan)
    : num_chunks(num_chunks_of_plan),
      cells(static_cast<std::size_t>(num_ranks) * static_cast<std::size_t>(num_chunks_of_plan)),
      headers(static_cast<std::size_t>(num_ranks)) {}

Group::Group(int num_ranks)
    : num_ranks_(num_ranks), members_(static_cast<std::size_t>(num_ranks)) {}

void Group::await_all(int rank, std::atomic<std::uint64_t> Member::*counter, std::uint64_t value,
                      const Deadline& deadline) {
  for (int peer = 0; peer < num_ranks_; ++peer) {
    const std::atomic<std::uint64_t>& count = members_[static_cast<std::size_t>(peer)].*counter;
    Backoff backoff;
    while (count.load(std::memory_order_acquire) < value) {
      backoff.pause();
      if (!backoff.time_to_check()) continue;
      // Looked at before the count: a rank that counts and then fails or leaves has taken part.
      const bool ended = dead();
      const bool gone = left(peer);
      if (count.load(std::memory_order_acquire) >= value) break;
      if (ended) throw cause(rank);
      if (gone) throw_left(rank, peer);
      if (deadline.expired()) {
        fail(rank, Error(ErrorCode::kDeadline,
                         cat("rank ", rank, " waited ", deadline.limit_ms(), " ms for rank ", peer,
                             " to take part in making a plan"),
                         peer));
      }
    }
  }
}

std::vector<std::string> Group::exchange(int rank, const std::string& mine,
                                         const Deadline& deadline) {
  Member& me = members_[static_cast<std::size_t>(rank)];
  const std::uint64_t number = me.written.load(std::memory_order_relaxed) + 1;
  // Our text of the exchange before may be overwritten once everybody has read it.
  await_all(rank, &Member::read, number - 1, deadline);
  me.text = mine;
  me.written.store(number, std::memory_order_release);
  await_all(rank, &Member::written, number, deadline);
  std::vector<std::string> all;
  all.reserve(members_.size());
  for (const Member& member : members_) all.push_back(member.text);
  me.read.store(number, std::memory_order_release);
  return all;
}

std::shared_ptr<Board> Group::board(std::uint64_t number, int num_chunks) {
  const std::lock_guard lock(boards_mutex_);
  OpenBoard& open = boards_[number];
  if (open.board == nullptr) open.board = std::make_shared<Board>(num_ranks_, num_chunks);
  std::shared_ptr<Board> board = open.board;
  if (++open.num_asked == num_ranks_) boards_.erase(number);
  return board;
}

void Group::fail(int rank, const Error& error) {
  const std::lock_guard lock(cause_mutex_);
  if (cause_ != nullptr) return;
  cause_ = std::make_unique<Error>(error);
  cause_rank_ = rank;
  dead_.store(true);  // sequentially consistent: see set_reading
}

// A failing rank sets `dead` and then looks at `reading`; a rank that enters sets `reading` and
// then looks at `dead`. Both in one total order, so one of the two sees the other.
void Group::set_reading(int rank, bool reading) {
  std::atomic<bool>& mine = members_[static_cast<std::size_t>(rank)].reading;
  if (!reading) {
    mine.store(false, std::memory_order_release);
    return;
  }
  mine.store(true);
  if (!dead_.load()) return;
  mine.store(false, std::memory_order_release);
  throw cause(rank);
}

int Group::quiesce(int rank, std::chrono::milliseconds limit) const {
  const Deadline deadline(limit);
  for (int peer = 0; peer < num_ranks_; ++peer) {
    if (peer == rank) continue;
    Backoff backoff;
    while (members_[static_cast<std::size_t>(peer)].reading.load()) {
      if (backoff.time_to_check() && deadline.expired()) return peer;
      backoff.pause();
    }
  }
  return -1;
}

void Group::leave(int rank, const char* reason) {
  Member& me = members_[static_cast<std::size_t>(rank)];
  if (me.left.load(std::memory_order_relaxed)) return;
  me.left_reason = reason;
  me.left.store(true, std::memory_order_release);
}

void Group::throw_left(int rank, int peer) {
  fail(rank, Error(ErrorCode::kPeerFailed,
                   cat("rank ", peer, " has left the mesh: ",
                       members_[static_cast<std::size_t>(peer)].left_reason),
                   peer));
  throw cause(rank);
}

Error Group::cause(int rank) const {
  const std::lock_guard lock(cause_mutex_);
  const bool shared = cause_->code() == ErrorCode::kDeadline ||
                      cause_->code() == ErrorCode::kPeerFailed || cause_->rank() < 0;
  if (shared || rank == cause_rank_) return *cause_;
  return Error(ErrorCode::kPeerFailed, cat("rank ", cause_rank_, " failed: ", cause_->what()),
               cause_rank_);
}

}  // namespace cmm::transport::threads
