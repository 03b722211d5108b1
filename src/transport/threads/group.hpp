// Ranks as threads of one process: the memory they share.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "cmm/error.hpp"
#include "transport/transport.hpp"

namespace cmm::transport::threads {

inline constexpr std::size_t kCacheLineBytes = 64;

// One chunk at one rank. `offered` is written by its rank, `releases` by the fetchers: two lines,
// so that a fetcher's release does not take the line the next fetcher polls.
struct alignas(kCacheLineBytes) Cell {
  std::atomic<std::uint64_t> offered{0};  // number of the last call it was offered in
  Rows rows;                              // valid while offered and not yet released by all
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> releases{0};  // over all calls
};

// Written before the rank's first offer of a call, which publishes it.
struct alignas(kCacheLineBytes) HeaderCell {
  CallHeader header;
};

// What the ranks of one plan share.
struct Board {
  Board(int num_ranks, int num_chunks);
  Cell& cell(int rank, int chunk) {
    return cells[static_cast<std::size_t>(rank) * static_cast<std::size_t>(num_chunks) +
                 static_cast<std::size_t>(chunk)];
  }

  int num_chunks;
  std::vector<Cell> cells;          // [num_ranks][num_chunks]
  std::vector<HeaderCell> headers;  // [num_ranks]
};

// The ranks of one axis.
class Group {
 public:
  explicit Group(int num_ranks);

  int num_ranks() const { return num_ranks_; }

  std::vector<std::string> exchange(int rank, const std::string& mine, const Deadline& deadline);

  // The board number `number` of this group: the same object for every rank that asks.
  std::shared_ptr<Board> board(std::uint64_t number, int num_chunks);

  void fail(int rank, const Error& error);
  void leave(int rank, const char* reason);
  bool dead() const { return dead_.load(std::memory_order_acquire); }
  void check_alive(int rank) const {
    if (dead()) throw cause(rank);
  }
  // The cause as `rank` reports it: its own error where it was the first to fail; a deadline, a
  // lost peer or a disagreement alike on every rank; else who failed and why. Only when dead().
  Error cause(int rank) const;
  // A count that a rank made before it left is visible to whoever has seen it left, so a waiter
  // asks left() first, then looks at its count once more, and only then gives up with throw_left,
  // which ends the group.
  bool left(int peer) const {
    return members_[static_cast<std::size_t>(peer)].left.load(std::memory_order_acquire);
  }
  [[noreturn]] void throw_left(int rank, int peer);

  // Brackets the time in which `rank` may read its peers' memory. set_reading(rank, true) throws
  // where the group is dead.
  void set_reading(int rank, bool reading);
  int quiesce(int rank, std::chrono::milliseconds limit) const;  // see Channel

 private:
  struct alignas(kCacheLineBytes) Member {
    std::atomic<std::uint64_t> written{0};  // exchanges whose text stands in `text`
    std::atomic<std::uint64_t> read{0};     // exchanges of which this rank has read every text
    std::string text;
    std::atomic<bool> reading{false};
    std::atomic<bool> left{false};
    const char* left_reason = "";  // written before `left`
  };
  // A board that not all ranks have asked for yet.
  struct OpenBoard {
    std::shared_ptr<Board> board;
    int num_asked = 0;
  };

  // Waits until member.*counter >= value for every member.
  void await_all(int rank, std::atomic<std::uint64_t> Member::*counter, std::uint64_t value,
                 const Deadline& deadline);

  const int num_ranks_;
  std::vector<Member> members_;

  std::atomic<bool> dead_{false};
  mutable std::mutex cause_mutex_;  // taken on failure only
  std::unique_ptr<Error> cause_;
  int cause_rank_ = -1;

  std::mutex boards_mutex_;  // taken when a plan is made only
  std::map<std::uint64_t, OpenBoard> boards_;
};

// The end of `rank`; the group lives as long as any endpoint or channel of it. The endpoint's
// destructor leaves the group.
std::shared_ptr<Endpoint> make_endpoint(std::shared_ptr<Group> group, int rank);

}  // namespace cmm::transport::threads
