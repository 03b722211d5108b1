// The transport's verbs over the memory of group.hpp. A peer's rows are read where they lie, so
// nothing moves here; the two counters of a cell carry all the ordering: `offered` (release)
// publishes the rows to `offered()` (acquire), `releases` (release) tells `released()` (acquire)
// that the fetchers' reads are over.
#include "base/check.hpp"
#include "base/text.hpp"
#include "transport/threads/group.hpp"

namespace cmm::transport::threads {
namespace {

class ThreadChannel final : public Channel {
 public:
  ThreadChannel(std::shared_ptr<Group> group, std::shared_ptr<Board> board, int rank,
                std::vector<int> num_fetchers)
      : group_(std::move(group)),
        board_(std::move(board)),
        rank_(rank),
        num_fetchers_(std::move(num_fetchers)),
        header_checked_(static_cast<std::size_t>(group_->num_ranks()), 0) {}

  void begin(const CallHeader& header) override {
    group_->set_reading(rank_, true);
    header_ = header;
    board_->headers[static_cast<std::size_t>(rank_)].header = header;
  }

  void end() override { group_->set_reading(rank_, false); }
  void check_alive() const override { group_->check_alive(rank_); }
  int quiesce(std::chrono::milliseconds limit) override { return group_->quiesce(rank_, limit); }

  void offer(int chunk, const Rows& rows) override {
    CMM_DCHECK(released(chunk, header_.call - 1));
    Cell& cell = board_->cell(rank_, chunk);
    cell.rows = rows;
    cell.offered.store(header_.call, std::memory_order_release);
  }

  bool offered(int peer, int chunk) override {
    group_->check_alive(rank_);
    const std::atomic<std::uint64_t>& offered_in = board_->cell(peer, chunk).offered;
    if (offered_in.load(std::memory_order_acquire) < header_.call) {
      if (!group_->left(peer)) return false;
      if (offered_in.load(std::memory_order_acquire) < header_.call)
        group_->throw_left(rank_, peer);
    }
    check_header(peer);
    return true;
  }

  Rows look(int peer, int chunk) const override { return board_->cell(peer, chunk).rows; }

  void release(int peer, int chunk) override {
    board_->cell(peer, chunk).releases.fetch_add(1, std::memory_order_release);
  }

  bool released(int chunk) override {
    group_->check_alive(rank_);
    return released(chunk, header_.call);
  }

 private:
  bool released(int chunk, std::uint64_t num_calls) const {
    const auto per_call =
        static_cast<std::uint64_t>(num_fetchers_[static_cast<std::size_t>(chunk)]);
    return board_->cell(rank_, chunk).releases.load(std::memory_order_acquire) >=
           num_calls * per_call;
  }

  // A peer's header stays put from its offer until we release the chunk offered.
  void check_header(int peer) {
    std::uint64_t& checked = header_checked_[static_cast<std::size_t>(peer)];
    if (checked == header_.call) return;
    const CallHeader& theirs = board_->headers[static_cast<std::size_t>(peer)].header;
    if (!(theirs == header_)) {
      group_->fail(rank_, Error(ErrorCode::kInvalidArgument,
                                cat("ranks disagree on a call: rank ", rank_, " makes ",
                                    describe(header_), ", rank ", peer, " ", describe(theirs))));
      throw group_->cause(rank_);
    }
    checked = header_.call;
  }

  static std::string describe(const CallHeader& header) {
    return cat("call ", header.call, " with m=", header.m, " and operation ", header.operation);
  }

  std::shared_ptr<Group> group_;
  std::shared_ptr<Board> board_;
  int rank_;
  std::vector<int> num_fetchers_;
  CallHeader header_;
  std::vector<std::uint64_t> header_checked_;  // by peer: the last call whose header was compared
};

class ThreadEndpoint final : public Endpoint {
 public:
  ThreadEndpoint(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}
  ~ThreadEndpoint() override { group_->leave(rank_, "its handle on the axis was destroyed"); }

  int rank() const override { return rank_; }
  int num_ranks() const override { return group_->num_ranks(); }

  std::vector<std::string> exchange(const std::string& mine, const Deadline& deadline) override {
    return group_->exchange(rank_, mine, deadline);
  }

  std::unique_ptr<Channel> open_channel(const ChannelShape& shape, const Deadline&) override {
    return std::make_unique<ThreadChannel>(group_, group_->board(num_channels_++, shape.num_chunks),
                                           rank_, shape.num_fetchers);
  }

  void fail(const Error& error) override {
    group_->fail(rank_, error);
    told_.store(true, std::memory_order_relaxed);
  }
  void check_alive() const override { group_->check_alive(rank_); }
  void check_usable() const override {
    if (!group_->dead()) return;
    const Error cause = group_->cause(rank_);
    if (!told_.exchange(true, std::memory_order_relaxed)) throw cause;
    throw Error(ErrorCode::kMeshDead,
                cat("the mesh is dead since an earlier call failed; make a new one. The cause: ",
                    cause.what()),
                cause.rank());
  }
  void leave(const char* reason) override { group_->leave(rank_, reason); }

 private:
  std::shared_ptr<Group> group_;
  int rank_;
  std::uint64_t num_channels_ = 0;
  mutable std::atomic<bool> told_{false};  // this rank's caller knows that the group is dead
};

}  // namespace

std::shared_ptr<Endpoint> make_endpoint(std::shared_ptr<Group> group, int rank) {
  return std::make_shared<ThreadEndpoint>(std::move(group), rank);
}

}  // namespace cmm::transport::threads
