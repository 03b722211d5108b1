// The collective half of a call: walks one rank's schedule with a channel and tells which chunks
// of x have arrived and where they lie.
//
// A chunk that a peer of this host offers and that this rank does not pass on is read in place: it
// has arrived when it is offered, and lies where the peer has it. Any other chunk is fetched into
// the slot that the schedule names, and offered on from there. Algorithms that are about copying
// (ring, bidirectional, recursive doubling) copy on one host too.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/integers.hpp"
#include "cmm/matrix.hpp"
#include "schedule/partition.hpp"
#include "schedule/schedule.hpp"
#include "transport/transport.hpp"

namespace cmm {
class Trace;
}

namespace cmm::exec {

class Gather {
 public:
  struct Config {
    schedule::Shape shape;
    transport::Endpoint* endpoint = nullptr;
    std::int64_t max_chunk_rows = 0;
    std::int64_t row_bytes = 0;  // of x
    Trace* trace = nullptr;
  };
  // Allocates the slots. Throws Error(kOutOfMemory).
  explicit Gather(const Config& config);

  // What the channel must be opened with.
  transport::ChannelShape channel_shape() const;
  void attach(std::unique_ptr<transport::Channel> channel) { channel_ = std::move(channel); }

  int rank() const { return schedule_.rank; }
  int num_chunks() const { return num_chunks_; }
  std::int64_t slot_bytes() const { return slots_.bytes; }
  // Chunks that this rank fetches into slots, of those it receives.
  int num_fetches() const { return static_cast<int>(fetches_.size()); }
  int owner(int chunk) const { return chunk / chunks_per_shard_; }

  // Starts a call: offers this rank's chunks of x. `partition` outlives the call.
  void begin(const transport::CallHeader& header, const ConstMatrixRef& x,
             const schedule::Partition& partition);

  // Moves what can be moved now; never blocks; any thread, one does the work. Throws the group's
  // cause, or Error(kInvalidArgument) where a peer offers rows of another shape.
  void progress(int thread);
  // Chunks that are fetched move only while a thread is in progress(); messages to other hosts
  // leave only then, too.
  bool fetches() const { return !fetches_.empty(); }
  bool crosses_hosts() const { return crosses_hosts_; }

  // Chunks that arrived since the last call of take_arrived, own chunks first. Thread 0 only.
  std::span<const int> take_arrived();
  int num_not_taken() const { return num_chunks_ - num_taken_; }
  // The peer whose chunk this rank waits for, -1 for none. Thread 0 only, while no other thread is
  // in progress().
  int awaited_peer() const;
  int peer_not_drained() const;  // while not drained()
  transport::History& history() const { return config_.endpoint->history(); }
  const transport::Rows& rows(int chunk) const { return where_[static_cast<std::size_t>(chunk)]; }

  // The executor has read the chunk for the last time. Any thread, once per chunk and call.
  void consumed(int chunk);

  // All peers have read what they fetch from this rank. Thread 0 only.
  bool drained();
  // No further chunk can come before a chunk that has arrived is consumed: its slot is needed.
  bool stalled() const { return stalled_; }
  // Nothing of the peers' memory is read any more: every chunk is consumed, or the call failed.
  void end() { channel_->end(); }
  void check_alive() const { channel_->check_alive(); }
  // Throws where a peer has died from whom something is still to come or who has still to read:
  // else the call can be completed without it. Thread 0 only; for once in some milliseconds.
  void check_peers() {
    if (num_not_taken() > 0 || !drained()) channel_->check_peers();
  }
  int quiesce(std::chrono::milliseconds limit) { return channel_->quiesce(limit); }
  transport::Dozer& dozer() { return *channel_; }

  // For the message of a deadline: what this rank waits for, and the peer at fault.
  struct Missing {
    int peer = -1;
    std::string text;
  };
  Missing not_arrived() const;        // as awaited_peer()
  Missing first_not_drained() const;  // only while not drained()

 private:
  void look_in_place();
  void start_fetches();
  void take_fetched(int thread);
  // A chunk that has not come, and best one that comes from its owner: that one waits for nobody
  // else, while a rank that passes a chunk on may itself wait for us. Null where all are here.
  const schedule::Transfer* awaited() const;
  Missing missing(int peer, const std::string& what) const;
  bool slot_is_free(const schedule::Transfer& transfer);
  std::byte* slot_of(const schedule::Transfer& transfer) const;
  bool reads_in_place(const schedule::Transfer& transfer) const;
  bool on_this_host(int peer) const;
  void arrive(int chunk, const transport::Rows& rows);
  bool forwards(int chunk) const { return !fetchers_[static_cast<std::size_t>(chunk)].empty(); }

  Config config_;
  schedule::RankSchedule schedule_;
  int num_chunks_ = 0;
  int chunks_per_shard_ = 1;
  bool crosses_hosts_ = false;
  std::vector<std::vector<int>> fetchers_;    // by chunk: the peers that fetch it here
  std::vector<int> in_place_from_;            // by chunk: the peer it is read in place at; kNone
  std::vector<schedule::Transfer> in_place_;  // receives, split in two
  std::vector<schedule::Transfer> fetches_;
  std::unique_ptr<transport::Channel> channel_;
  transport::Block slots_;  // [slots][max_chunk_rows][row_bytes]

  // Of the running call.
  std::uint64_t call_ = 0;
  const schedule::Partition* partition_ = nullptr;
  std::vector<transport::Rows> where_;                // by chunk
  std::vector<std::atomic<std::uint64_t>> consumed_;  // by chunk: last call it was consumed in
  struct Started {
    int fetch = 0;  // index in fetches_
    std::int64_t begin_ns = 0;
  };
  std::vector<int> not_offered_;  // of in_place_
  std::vector<Started> started_;
  std::size_t num_started_ = 0;  // of fetches_, in their order
  std::vector<int> arrived_;     // in order of arrival
  std::atomic<int> num_arrived_{0};
  int num_taken_ = 0;
  std::size_t num_drained_ = 0;  // leading sends whose chunk all fetchers have released
  std::atomic<bool> stalled_{false};
  std::atomic<bool> moving_{false};  // a thread is in progress()
};

}  // namespace cmm::exec
