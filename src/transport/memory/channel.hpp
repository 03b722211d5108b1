// A channel between ranks that read each other's memory. Peers are indexes of the group.
#pragma once

#include "transport/memory/group.hpp"

namespace cmm::transport::memory {

class Channel final : public transport::Channel {
 public:
  // Fetchers that are not in the group must have been left out of `shape`.
  Channel(std::shared_ptr<Group> group, const ChannelShape& shape);

  void connect(const Deadline& deadline) override;
  // In two parts, for whoever exchanges with more ranks than the group: what this rank says, and
  // what it heard, by index.
  std::string introduction() const;
  void connect(const std::vector<std::string>& introductions);
  // Among the channels of the axis, alike on every rank. Only when connected.
  std::uint64_t number() const { return number_; }

  void begin(const CallHeader& header) override;
  void end() override { group_->set_reading(false); }
  void check_alive() const override { group_->check_alive(); }
  void check_peers() override { group_->check_peers(); }
  int quiesce(std::chrono::milliseconds limit) override;

  void offer(int chunk, const Rows& rows) override;
  bool released(int chunk) override;
  // Rows that peers of the group can read, and that others may be sent from: those of offer(), or
  // the copy that was made of them. Valid until released.
  Rows shared_rows(int chunk) const { return shared_[static_cast<std::size_t>(chunk)]; }

  void fetch(int peer, int chunk, std::byte* into, std::int64_t num_rows,
             std::int64_t row_bytes) override;
  bool fetched(int peer, int chunk) override;
  void poll() override {}
  bool any_thread() const override { return true; }

  std::string silence_of(int peer) const override;
  int held_up_by(int peer) override { return group_->held_up_by(peer); }
  int not_released_by(int chunk) const override;
  bool offered(int peer, int chunk) override;
  Rows look(int peer, int chunk) const override;
  void release(int peer, int chunk) override;

  void doze() override { group_->doze(); }
  void rise() override { group_->rise(); }

 private:
  struct Fetch {
    std::byte* into = nullptr;
    std::int64_t num_rows = 0;
    std::int64_t row_bytes = 0;
  };

  const Board& board_of(int peer) const;
  static const Offer& offer_at(const Board& board, int chunk);
  const Release& release_at(const Board& board, int chunk) const;
  bool released(int chunk, std::uint64_t call) const;
  void check_header(int peer);
  Rows copied(const Rows& rows);

  std::shared_ptr<Group> group_;
  std::uint64_t number_ = 0;
  const ChannelShape shape_;
  Block board_;
  std::vector<const Board*> boards_;  // by index
  Block copies_;                      // own_bytes, where peers cannot read the caller's memory
  std::int64_t copied_bytes_ = 0;     // of this call
  std::vector<Rows> shared_;          // by chunk
  std::vector<Fetch> fetches_;        // by chunk
  CallHeader header_;
  std::vector<std::uint64_t> header_checked_;  // by peer: the last call whose header was compared
};

}  // namespace cmm::transport::memory
