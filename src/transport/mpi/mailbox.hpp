// What the ranks of one axis tell each other beside chunks (message.hpp), and how a failure of one
// becomes the failure of all.
//
// A rank compares every operation that a peer enters with its own history, as soon as both have
// entered it; so ranks that are in different operations learn of it whoever waits for whom.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "cmm/error.hpp"
#include "transport/memory/group.hpp"
#include "transport/mpi/message.hpp"
#include "transport/mpi/world.hpp"

namespace cmm::transport::mpi {

// Shared by the endpoint and the channels of one rank on one axis. All functions but those that say
// so are called with calls_mutex() held.
class Mailbox final : public Dozer {
 public:
  struct Config {
    std::shared_ptr<World> world;
    int axis = -1;                         // for tags
    int rank = 0;                          // of this process on the axis
    std::vector<int> ranks;                // in the world, by rank on the axis
    std::shared_ptr<memory::Group> group;  // the ranks of the axis on this host
  };
  // Takes the lock itself, as does the destructor.
  explicit Mailbox(const Config& config);
  ~Mailbox() override;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // No lock needed: what does not change.
  World& world() const { return *config_.world; }
  const std::shared_ptr<memory::Group>& group() const { return config_.group; }
  int rank() const { return config_.rank; }
  int num_ranks() const { return static_cast<int>(config_.ranks.size()); }
  int world_rank(int rank) const { return config_.ranks[static_cast<std::size_t>(rank)]; }
  // Of the group; -1 where the rank is on another host.
  int local_index(int rank) const { return local_indexes_[static_cast<std::size_t>(rank)]; }
  int chunk_tag(int chunk) const { return world().first_tag(config_.axis) + 1 + chunk; }

  // Enters the next operation on the axis and tells `peers`, whom this rank will send chunks.
  void enter_call(std::uint64_t channel, const CallHeader& header, const std::vector<int>& peers);
  // Whether that peer has entered that call of that channel; the same for both.
  bool entered(int peer, std::uint64_t channel, std::uint64_t call) const;

  // Enters an exchange and tells everybody the text.
  void enter_exchange(const std::string& text, Purpose purpose);
  bool text_is_complete(int peer) const;
  // The texts of all; only when all are complete.
  std::vector<std::string> take_texts();

  // Handles what has come and sends what could not be sent yet. Does nothing in a thread that may
  // not call MPI. Throws the cause where the axis is dead.
  void poll();

  // A peer has left and every message with chunks that it sent us has come.
  bool left(int peer) const;
  [[noreturn]] void throw_left(int peer);
  std::string silence_of(int peer) const;  // see Channel
  // See Channel: asks the peer for whom it waits, and that one, and so on; who does not answer
  // within some milliseconds is at fault. Takes the lock itself. Throws the cause where the axis is
  // dead.
  int held_up_by(int peer);
  void count_sent(int peer) { ++peers_[static_cast<std::size_t>(peer)].num_sent; }
  void count_received(int peer) { ++peers_[static_cast<std::size_t>(peer)].num_received; }

  // Ends the axis for all ranks; see Endpoint. In a thread that may not call MPI the peers on other
  // hosts are told when one next polls that may.
  void fail(const Error& error);
  [[noreturn]] void fail_and_throw(const Error& error);
  void leave(const char* reason) noexcept;
  // Ends the axis where an MPI call failed.
  void require(int code, const char* call, int peer = -1);

  // After leave(): whether every rank has left and all messages have been taken, or never will be.
  bool finish() noexcept;

  // Of this host, whose processes can be seen; throws the cause.
  void check_peers();

  // For waits; takes the lock itself. Looks at peers and messages, then sleeps a little.
  void doze() override;
  void rise() override {
    napped_ = std::chrono::microseconds(0);
    waits_.store(false, std::memory_order_relaxed);
  }

 private:
  static constexpr std::chrono::microseconds kShortestNap{50};
  static constexpr std::chrono::microseconds kLongestNap{1000};
  // Of the time that has been waited: what a nap may add to it. A rank that is waited for long then
  // costs its peers 2 % of a core, where naps of 200 us cost 8 %.
  static constexpr int kNapShare = 16;
  // Ranks of an axis that agree on their calls are never further apart than they have ranks, or
  // chunks could not have come; what lies further back is only compared loosely.
  static constexpr std::size_t kHistory = 64;
  static constexpr std::size_t kLeaveTextBytes = 256;

  struct Operation {
    std::uint64_t number = 0;
    std::uint64_t which = 0;
    CallHeader header;
    friend bool operator==(const Operation&, const Operation&) = default;
  };
  static std::string describe(const Operation& operation);

  struct Peer {
    std::deque<Message> ahead;  // of operations that this rank has not entered yet
    std::string text;           // of the running exchange
    std::uint64_t text_total = 0;
    bool text_complete = false;
    std::uint64_t last_operation = 0;  // that it told us of
    std::vector<std::uint64_t> calls;  // by channel: the last that it entered and we compared
    bool left = false;
    std::string left_reason;
    std::uint64_t num_answered = 0;  // questions of ours
    int awaits = -1;                 // as it answered last
    std::uint64_t num_sent = 0;      // messages with chunks
    std::uint64_t num_received = 0;
    std::uint64_t num_sent_to_us = 0;  // as it said when it left
  };
  struct Outgoing {
    Message message;
    std::vector<MPI_Request> requests;
  };
  struct LeaveMessage {
    MessageHead head;
    char text[kLeaveTextBytes];
  };

  Peer& peer_at(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  const Peer& peer_at(int rank) const { return peers_[static_cast<std::size_t>(rank)]; }

  void enter(std::uint64_t which, const CallHeader& header);
  void post_receive();
  void handle_received(const MPI_Status& status);
  void handle_operation(int peer, const Message& message);
  void compare(int peer, const Operation& theirs);
  void broadcast(const Message& message, const std::vector<int>& peers);
  void flush_failure();
  void flush_leave() noexcept;
  Outgoing& free_outgoing();

  const Config config_;
  std::vector<int> local_indexes_;  // by rank
  std::vector<int> others_;         // all ranks but this
  std::vector<Peer> peers_;         // by rank
  std::uint64_t num_operations_ = 0;
  std::array<Operation, kHistory> history_;

  std::unique_ptr<Message> incoming_ = std::make_unique<Message>();
  MPI_Request receive_ = MPI_REQUEST_NULL;
  std::vector<std::unique_ptr<Outgoing>> outgoing_;

  // Made at the start: leaving must not allocate.
  std::vector<LeaveMessage> leave_messages_;
  std::vector<MPI_Request> leave_requests_;
  const char* leave_reason_ = nullptr;
  bool leave_sent_ = false;
  bool finished_ = false;
  bool failure_sent_ = false;  // or learnt from a peer, which tells everybody itself

  std::uint64_t num_asked_ = 0;
  std::atomic<bool> waits_{false};       // this rank
  std::chrono::microseconds napped_{0};  // in this wait
  std::int64_t checked_ns_ = 0;
};

}  // namespace cmm::transport::mpi
