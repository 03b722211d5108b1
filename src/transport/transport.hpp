// What moves bytes between the ranks of one axis. Nothing here knows of matrices, schedules or
// multiplies; the executor decides who fetches what.
//
// A chunk is a block of rows that lies in the memory of a rank that holds it. The verbs:
//
//   offer     this rank holds the chunk; the peers that fetch it may have it
//   released  have all of them read it?                         (never blocks)
//   fetch     start to bring a peer's chunk into memory of ours
//   fetched   has it landed?                                    (never blocks)
//   poll      moves what messages can be moved                  (never blocks)
//
// and, for peers on this rank's host, whose memory it can read, instead of fetch and fetched:
//
//   offered   has that peer offered the chunk yet?              (never blocks)
//   look      where it lies
//   release   this rank has read the peer's chunk               (pairs with look)
//
//   begin     this rank enters a call and may read peers' memory
//   end       it reads no peer's memory any more                (pairs with begin)
//
// A call that fails ends too, and then waits in `quiesce` for peers that may still be reading this
// rank's own x.
//
// Calls are numbered 1, 2, ... by the caller, alike on every rank; the counters behind the verbs
// only grow and nothing is reset between calls. Every verb throws the group's cause once a rank
// has failed, so no loop around them can wait for a rank that is gone.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "cmm/error.hpp"
#include "transport/history.hpp"
#include "transport/wait.hpp"

namespace cmm::transport {

// Rows of a chunk as they lie in memory.
struct Rows {
  const std::byte* data = nullptr;
  std::int64_t num_rows = 0;
  std::int64_t row_bytes = 0;
  std::int64_t stride_bytes = 0;
};

struct Extents {
  std::int64_t num_rows = 0;
  std::int64_t row_bytes = 0;
};
struct Origin {
  int peer = -1;
  int chunk = -1;
};
// A size that a peer wrote is compared with our own before anything is read by it. Throws
// Error(kInvalidArgument).
void check_extents(const Rows& offered, const Extents& expected, const Origin& origin);

// What a call does, for the words of an error; a header may name another number.
enum class Operation : std::int64_t { kAllGatherMatmul = 1, kAllGather = 2 };

// What every rank must mean by this call; compared before a peer's first chunk is used.
struct CallHeader {
  std::uint64_t call = 0;
  std::int64_t m = 0;
  std::int64_t operation = 0;  // an Operation
  friend bool operator==(const CallHeader&, const CallHeader&) = default;
};
std::string describe(const CallHeader& header);  // "call 3 of all_gather with m=64"

// What an exchange is for; compared before a peer's text is used.
enum class Purpose : std::uint8_t { kPlan, kText, kBarrier };
// What a rank does, as its peers see it: a Purpose, or kFirstCall + c for a call of channel c.
inline constexpr std::uint64_t kFirstCall = 3;
std::string describe_kind(std::uint64_t kind);  // "exchanges a text", "calls plan 2"

struct ChannelShape {
  int num_chunks = 0;
  // The peers that fetch each chunk from this rank, in every call; empty where it offers none.
  std::vector<std::vector<int>> fetchers;
  // Of all chunks that this rank offers out of the caller's own memory. A transport whose peers
  // cannot read that memory copies them.
  std::int64_t own_bytes = 0;
  std::int64_t max_chunk_bytes = 0;
};

// Memory of this rank that its peers on the same host can read; `bytes` from data.get().
struct Block {
  std::shared_ptr<std::byte> data;
  std::int64_t bytes = 0;
  template <class T>
  T* data_as() const {
    return reinterpret_cast<T*>(data.get());
  }
};

// One rank's end of the exchange of one plan. Used by one thread of the rank at a time, but for
// `release` and `check_alive`, which any thread may call at any time.
class Channel : public Dozer {
 public:
  // Once, before the first call. Collective, in the same order of channels on every rank.
  virtual void connect(const Deadline& deadline) = 0;
  // Enters call header.call. Peers may fetch from here once chunks are offered.
  virtual void begin(const CallHeader& header) = 0;
  virtual void end() = 0;
  // Throws the group's cause where it is dead. A rank that reads its peers' memory asks between
  // small pieces of work: a peer that failed waits for it in quiesce(). Any thread.
  virtual void check_alive() const = 0;
  // As a doze does, without the sleep: throws where a peer has died or makes another call. Costs
  // system calls: for once in some milliseconds of work. The thread that called begin().
  virtual void check_peers() = 0;
  // After end(): returns once no peer reads the caller's x, or after `limit`. The peer that still
  // does, or -1; at once where peers never read it, but a copy.
  virtual int quiesce(std::chrono::milliseconds limit) = 0;

  // The rows stay as they are until released(chunk), or, in a call that fails, until quiesce().
  virtual void offer(int chunk, const Rows& rows) = 0;
  virtual bool released(int chunk) = 0;

  // `into` is memory of Endpoint::allocate (a message may still be landing in it after a failure)
  // and has the extents that this rank expects. Each chunk is fetched once a call at most, and
  // so is either fetched or looked at. fetched() throws Error(kInvalidArgument) where the peer's
  // header or extents differ from ours; once it has returned true it is not asked again.
  virtual void fetch(int peer, int chunk, std::byte* into, std::int64_t num_rows,
                     std::int64_t row_bytes) = 0;
  virtual bool fetched(int peer, int chunk) = 0;
  virtual void poll() = 0;
  // Whether threads of the rank other than the one that called begin() may poll, fetch and offer
  // (one at a time, in any case).
  virtual bool any_thread() const = 0;

  // For a message: what is known of a peer that has not done what this rank waits for.
  virtual std::string silence_of(int peer) const = 0;
  // Likewise: the rank at fault where this rank waits for `peer`, which may itself be held up by
  // another; and a peer that has not released a chunk yet, -1 where that is not known.
  virtual int held_up_by(int peer) { return peer; }
  virtual int not_released_by(int) const { return -1; }

  // For peers on this rank's host only. Throws Error(kInvalidArgument) on all ranks where the
  // peer's header differs from ours.
  virtual bool offered(int peer, int chunk) = 0;
  virtual Rows look(int peer, int chunk) const = 0;
  virtual void release(int peer, int chunk) = 0;
};

// The error of the rank that failed as its peers report it: a deadline, a lost peer or a
// disagreement alike on every rank; else who failed and why.
Error told_to_peers(const Error& error, int rank);

// One rank's end of an axis.
class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual int rank() const = 0;
  virtual int num_ranks() const = 0;
  virtual std::string_view transport_name() const = 0;  // "threads", "shared memory", "MPI"
  // The host of each rank, by number: 0 .. number of hosts - 1, in order of their first ranks.
  // Ranks of one host can read each other's memory.
  virtual const std::vector<int>& hosts() const = 0;

  // Collective: every rank contributes bytes and gets those of all ranks, in rank order. Throws
  // Error(kDeadline) naming a rank that did not come, or Error(kInvalidArgument) on all ranks where
  // one does something else; the group is then dead.
  virtual std::vector<std::string> exchange(const std::string& mine, const Deadline& deadline,
                                            Purpose purpose = Purpose::kText) = 0;

  // This rank's end of a channel, with all memory that it needs; each rank names its own shape.
  // Not collective: Channel::connect() is. Throws Error(kOutOfMemory), or Error(kUnsupported) where
  // the transport has no room for so many chunks.
  virtual std::unique_ptr<Channel> open_channel(const ChannelShape& shape) = 0;

  // Not collective; 64-byte aligned. Throws Error(kOutOfMemory) with needed and present
  // bytes. Chunks that lie in it are offered without a copy.
  virtual Block allocate(std::int64_t bytes) = 0;

  // Ends the group for all ranks: the first cause wins and is what every rank reports. `error`
  // is this rank's. Not collective; callable from any thread of the rank. Afterwards this rank's
  // check_usable() says kMeshDead. Does nothing in a forked process.
  virtual void fail(const Error& error) = 0;
  // For waits: throws the cause where the group is dead.
  virtual void check_alive() const = 0;
  // For the start of a call: as check_alive, but kMeshDead where this rank has been told before,
  // and Error(kInvalidArgument) in a process forked from the one that made the mesh and on a rank
  // that has left.
  virtual void check_usable() const = 0;
  // This rank makes no more calls; peers that wait for it learn so. `reason` lives as long as the
  // program: leaving must not allocate, since it may be for want of memory.
  virtual void leave(const char* reason) = 0;

  // One call or plan at a time: false where one runs already. Not collective.
  bool try_claim() { return !claimed_.exchange(true, std::memory_order_acquire); }
  void unclaim() { claimed_.store(false, std::memory_order_release); }

  // What this rank did last on the axis.
  History& history() { return *history_; }
  const History& history() const { return *history_; }
  // The number of a plan that has just been made, counted from 1 alike on every rank.
  int count_plan() { return ++num_plans_; }

 protected:
  explicit Endpoint(std::shared_ptr<History> history = std::make_shared<History>())
      : history_(std::move(history)) {}

 private:
  const std::shared_ptr<History> history_;
  int num_plans_ = 0;
  std::atomic<bool> claimed_{false};
};

}  // namespace cmm::transport
