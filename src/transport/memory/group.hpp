// The ranks of one axis that can read each other's memory: who is there, who has failed, what they
// exchange when a plan is made. channel.hpp moves the chunks of a call.
//
// One object per rank; what they share is laid out in layout.hpp and lies in memory that all of
// them map (processes) or see (threads).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "cmm/error.hpp"
#include "transport/memory/layout.hpp"
#include "transport/memory/space.hpp"
#include "transport/transport.hpp"

namespace cmm::transport::memory {

class Group : public Dozer, public std::enable_shared_from_this<Group> {
 public:
  struct Config {
    std::shared_ptr<std::byte> control;  // control_bytes(number of members), zeroed once, shared
    std::shared_ptr<Space> space;
    int index = 0;             // of this rank in the two lists below
    std::vector<int> members;  // numbers in the space
    std::vector<int> ranks;    // ranks on the axis, for messages and errors
    // Of this rank on the axis.
    std::shared_ptr<History> history = std::make_shared<History>();
  };
  explicit Group(const Config& config);

  int index() const { return config_.index; }
  int size() const { return static_cast<int>(config_.members.size()); }
  int rank_of(int index) const { return config_.ranks[static_cast<std::size_t>(index)]; }
  Space& space() const { return *config_.space; }
  const std::shared_ptr<History>& history() const { return config_.history; }
  // Memory that a peer told of; nullptr where it is not all the peer's.
  const std::byte* at(int index, std::int64_t address, std::int64_t bytes) const {
    return space().at(config_.members[static_cast<std::size_t>(index)], address, bytes);
  }

  // Collective over the group. The texts of all, by index. `dozer` sleeps in this group's place,
  // where the rank must look at more than this group while it waits.
  std::vector<std::string> exchange(const std::string& mine, const Deadline& deadline,
                                    Purpose purpose, Dozer* dozer = nullptr);

  // Marks the start of this rank's next operation on the axis; see kFirstCall. Peers that wait for
  // this rank compare.
  void enter(std::uint64_t kind);

  // The number of a channel that is being connected, from 0. Collective.
  std::uint64_t count_channel() { return num_channels_++; }

  // Memory that is reused no earlier than in the second exchange after the block is gone: by then
  // every peer has left the call in which it may have looked at it.
  Block allocate(std::int64_t bytes);

  // See Endpoint. The first of the group to fail wins.
  void fail(const Error& error);
  bool dead() const { return control().failed_by.load(std::memory_order_acquire) != 0; }
  void check_alive() const {
    if (dead()) throw cause();
  }
  // The cause as this rank reports it: its own error where it was the first to fail; a deadline, a
  // lost peer or a disagreement alike on every rank; else who failed and why. Only when dead().
  Error cause() const;
  void leave(const char* reason) noexcept;
  // See Endpoint, but for forked processes.
  void check_usable() const;
  // This rank's caller knows the cause: from now on check_usable() says kMeshDead.
  void set_told() { told_.store(true, std::memory_order_relaxed); }

  // A count that a rank made before it left is visible to whoever has seen it left, so a waiter
  // asks left() first, then looks at its count once more, and only then gives up with throw_left,
  // which ends the group.
  bool left(int index) const { return member(index).left.load(std::memory_order_acquire) != 0; }
  [[noreturn]] void throw_left(int index);

  // Brackets the time in which this rank may read its peers' memory. set_reading(true) throws
  // where the group is dead.
  void set_reading(bool reading);
  // Waits for the others to read no more; the index of one that still does, or -1.
  int await_readers(std::chrono::milliseconds limit) const;

  // For the message of a deadline.
  std::string silence_of(int index) const;
  // Where this rank waits for a peer in vain: the rank on the axis at fault, which is that peer or,
  // where that one waits too, the end of the chain. Takes some milliseconds.
  int held_up_by(int index);

  // Throws where a peer's process has ended or a peer is in another operation than this rank.
  void check_peers();

  void doze() override;
  void rise() override;
  // Wakes peers that sleep. After the store that they wait for.
  void wake(std::span<const int> indexes);
  void wake_all();

 private:
  struct Retired {
    std::byte* data;
    std::int64_t bytes;
    std::uint64_t num_exchanges;  // begun by this rank when it was retired
  };

  Control& control() const { return *reinterpret_cast<Control*>(config_.control.get()); }
  Member& member(int index) const {
    return reinterpret_cast<Member*>(config_.control.get() + sizeof(Control))[index];
  }
  Member& mine() const { return member(config_.index); }

  void await_all(Counter Member::*counter, std::uint64_t value, const Deadline& deadline,
                 Dozer& dozer);
  void check_operation(int index);
  [[noreturn]] void throw_disagreement(int index, std::uint64_t theirs);
  void count_doze();
  void retire(std::byte* data, std::int64_t bytes) noexcept;
  void free_retired();

  const Config config_;
  std::atomic<std::uint64_t> sequence_{0};  // operations of this rank
  std::uint64_t num_channels_ = 0;
  std::uint64_t num_exchanges_ = 0;
  std::uint64_t num_rounds_ = 0;

  std::mutex failure_mutex_;  // taken on failure only
  bool failed_ = false;       // this rank has written its cause
  mutable std::atomic<bool> told_{false};

  std::mutex retired_mutex_;
  std::vector<Retired> retired_;

  bool announced_ = false;       // this rank's sleep
  std::uint32_t bell_ = 0;       // its doorbell then
  std::int64_t checked_ns_ = 0;  // when it last looked at its peers' processes
};

}  // namespace cmm::transport::memory
