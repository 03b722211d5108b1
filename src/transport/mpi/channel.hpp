// A channel of an axis whose ranks are on several hosts. Chunks travel as messages between hosts
// and through shared memory within one, which memory::Channel does.
#pragma once

#include <memory>
#include <vector>

#include "transport/memory/channel.hpp"
#include "transport/mpi/mailbox.hpp"

namespace cmm::transport::mpi {

class Channel final : public transport::Channel, private Mover {
 public:
  // `local` is the same channel among the ranks of this host, and is connected by this one.
  Channel(std::shared_ptr<Mailbox> mailbox, const ChannelShape& shape,
          std::shared_ptr<memory::Channel> local);
  ~Channel() override;

  void connect(const Deadline& deadline) override;
  void begin(const CallHeader& header) override;
  void end() override;
  void check_alive() const override { mailbox_->group()->check_alive(); }
  void check_peers() override {
    const CallsLock lock(calls_mutex());
    mailbox_->check_peers();
  }
  int quiesce(std::chrono::milliseconds limit) override { return local_->quiesce(limit); }

  void offer(int chunk, const Rows& rows) override;
  bool released(int chunk) override;

  void fetch(int peer, int chunk, std::byte* into, std::int64_t num_rows,
             std::int64_t row_bytes) override;
  bool fetched(int peer, int chunk) override;
  void poll() override;
  bool any_thread() const override { return mailbox_->world().threads().any_thread(); }

  std::string silence_of(int peer) const override;
  int held_up_by(int peer) override { return mailbox_->held_up_by(peer); }
  int not_released_by(int chunk) const override;
  bool offered(int peer, int chunk) override;
  Rows look(int peer, int chunk) const override { return local_->look(local_index(peer), chunk); }
  void release(int peer, int chunk) override { local_->release(local_index(peer), chunk); }

  void doze() override;
  void rise() override { mailbox_->rise(); }

 private:
  // A chunk on its way from a peer, as one message or, where it is large, several.
  struct Receive {
    int peer = -1;
    Rows into;
    std::int64_t num_left = 0;     // messages not matched yet
    std::int64_t num_pending = 0;  // matched, and not all here yet
    std::string wrong = {};        // what is wrong with one of them
  };
  // A chunk for a peer, of which parts from `next` on have not been handed to MPI.
  struct Send {
    int peer = -1;
    int chunk = -1;
    Rows rows;
    std::int64_t next = 0;
    std::int64_t num_parts = 0;
  };
  struct Request {
    int chunk = -1;
    int peer = -1;
    bool sends = false;
    std::int64_t bytes = 0;
    MPI_Request handle = MPI_REQUEST_NULL;
  };
  // What one message carries.
  struct Part {
    std::byte* data = nullptr;
    std::int64_t num_rows = 0;
    std::int64_t row_bytes = 0;
    std::int64_t stride_bytes = 0;
  };

  bool move() noexcept override;
  int local_index(int peer) const { return mailbox_->local_index(peer); }
  std::int64_t num_parts(const Rows& rows) const;
  Part part(const Rows& rows, std::int64_t i) const;
  // With the lock held:
  void start_sends();
  void send(const Part& part, int peer, int chunk);
  void move_messages();
  void match_expected();
  bool match_next(int chunk, Receive& receive);  // false: it has not come yet
  void give_up_receives();

  std::shared_ptr<Mailbox> mailbox_;
  std::shared_ptr<memory::Channel> local_;
  std::vector<std::vector<int>> fetchers_;  // by chunk, on other hosts
  std::vector<int> receivers_;              // all of those, each once
  CallHeader header_;
  bool reading_ = false;  // between begin() and end()

  std::vector<Send> sends_;                  // in order of offers
  std::vector<std::int64_t> sending_bytes_;  // by rank: with MPI
  std::vector<int> num_sending_;             // by chunk: messages, those of sends_ included
  std::vector<Receive> receives_;            // by chunk
  std::vector<int> expected_;                // chunks whose messages are not all matched
  std::size_t next_probe_ = 0;
  std::vector<Request> requests_;  // that MPI works on
  std::size_t next_test_ = 0;
  std::int64_t moved_ns_ = 0;  // when messages were last moved
};

}  // namespace cmm::transport::mpi
