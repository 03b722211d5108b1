// The collective half of a call: walks one rank's schedule with a channel and tells which chunks
// of x have arrived and where they lie.
//
// In place (`direct` where ranks can read each other's memory): a chunk has arrived when its owner
// has offered it, and lies where the owner has it. Otherwise a chunk is copied into the slot that
// the schedule names, in the schedule's order, and offered on from there.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.hpp"
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
    int rank = 0;
    bool in_place = false;
    std::int64_t max_chunk_rows = 0;
    std::int64_t row_bytes = 0;  // of x
    Trace* trace = nullptr;
  };
  // Allocates the slots. Throws Error(kOutOfMemory).
  explicit Gather(const Config& config);

  // What the channel must be opened with.
  transport::ChannelShape channel_shape() const;
  void attach(std::unique_ptr<transport::Channel> channel) { channel_ = std::move(channel); }

  int num_chunks() const { return num_chunks_; }
  std::int64_t slot_bytes() const { return slots_.bytes(); }
  int owner(int chunk) const { return chunk / chunks_per_shard_; }

  // Starts a call: offers this rank's chunks of x. `partition` outlives the call.
  void begin(const transport::CallHeader& header, const ConstMatrixRef& x,
             const schedule::Partition& partition);

  // Moves what can be moved now; never blocks; any thread, one does the work. Throws the group's
  // cause, or Error(kInvalidArgument) where a peer offers rows of another shape.
  void progress(int thread);

  // Chunks that arrived since the last call of take_arrived, own chunks first. Thread 0 only.
  std::span<const int> take_arrived();
  int num_not_taken() const { return num_chunks_ - num_taken_; }
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
  int quiesce(std::chrono::milliseconds limit) { return channel_->quiesce(limit); }

  // For the message of a deadline: what this rank waits for, and the peer at fault.
  struct Missing {
    int peer = -1;
    std::string text;
  };
  Missing first_not_arrived() const;
  Missing first_not_drained() const;  // only while not drained()

 private:
  void progress_in_place();
  void progress_copying(int thread);
  bool slot_is_free(const schedule::Transfer& transfer);
  void arrive(int chunk, const transport::Rows& rows);
  void check_rows(int peer, int chunk, const transport::Rows& rows) const;
  int num_fetchers(int chunk) const { return num_fetchers_[static_cast<std::size_t>(chunk)]; }

  Config config_;
  schedule::RankSchedule schedule_;
  int num_chunks_ = 0;
  int chunks_per_shard_ = 1;
  std::vector<int> num_fetchers_;  // by chunk
  std::unique_ptr<transport::Channel> channel_;
  AlignedBuffer slots_;  // [num_slots][max_chunk_rows][row_bytes]

  // Of the running call.
  std::uint64_t call_ = 0;
  const schedule::Partition* partition_ = nullptr;
  std::vector<transport::Rows> where_;                // by chunk
  std::vector<std::atomic<std::uint64_t>> consumed_;  // by chunk: last call it was consumed in
  std::vector<int> pending_;                          // in place: receives not yet arrived
  std::size_t next_receive_ = 0;                      // copying
  std::vector<int> arrived_;                          // in order of arrival
  std::atomic<int> num_arrived_{0};
  int num_taken_ = 0;
  std::size_t num_drained_ = 0;  // leading sends whose chunk all fetchers have released
  bool stalled_ = false;
  std::atomic<bool> moving_{false};  // a thread is in progress()
};

}  // namespace cmm::exec
