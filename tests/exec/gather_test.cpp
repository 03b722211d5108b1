// Of all the chunks a rank waits for it names one whose giver can wait for nobody: the owner.
#include "exec/gather.hpp"

#include <gtest/gtest.h>

#include <set>

namespace cmm::exec {
namespace {

using schedule::Algorithm;

// Peers that have offered and sent the chunks of `here`, and nothing else.
class FakeChannel : public transport::Channel {
 public:
  explicit FakeChannel(const std::set<int>& here) : here_(here) {}
  void doze() override {}
  void rise() override {}
  void connect(const Deadline&) override {}
  void begin(const transport::CallHeader&) override {}
  void end() override {}
  void check_alive() const override {}
  void check_peers() override {}
  int quiesce(std::chrono::milliseconds) override { return -1; }
  void offer(int, const transport::Rows&) override {}
  bool released(int) override { return false; }
  void fetch(int, int, std::byte*, std::int64_t, std::int64_t) override {}
  bool fetched(int, int chunk) override { return here_.contains(chunk); }
  void poll() override {}
  bool any_thread() const override { return true; }
  std::string silence_of(int) const override { return ""; }
  bool offered(int, int chunk) override { return here_.contains(chunk); }
  transport::Rows look(int, int) const override { return {nullptr, 1, 4, 4}; }
  void release(int, int) override {}

 private:
  const std::set<int>& here_;
};

class FakeEndpoint : public transport::Endpoint {
 public:
  FakeEndpoint(int rank, std::vector<int> hosts) : rank_(rank), hosts_(std::move(hosts)) {}
  int rank() const override { return rank_; }
  int num_ranks() const override { return static_cast<int>(hosts_.size()); }
  std::string_view transport_name() const override { return "fake"; }
  const std::vector<int>& hosts() const override { return hosts_; }
  std::vector<std::string> exchange(const std::string&, const Deadline&,
                                    transport::Purpose) override {
    return {};
  }
  std::unique_ptr<transport::Channel> open_channel(const transport::ChannelShape&) override {
    return std::make_unique<FakeChannel>(here);
  }
  transport::Block allocate(std::int64_t bytes) override {
    const auto memory = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(bytes));
    return {std::shared_ptr<std::byte>(memory, memory->data()), bytes};
  }
  void fail(const Error&) override {}
  void check_alive() const override {}
  void check_usable() const override {}
  void leave(const char*) override {}

  std::set<int> here;

 private:
  int rank_;
  std::vector<int> hosts_;
};

// One row a chunk; from rank 0.
class GatherOf {
 public:
  GatherOf(const schedule::Shape& shape, std::vector<int> hosts)
      : endpoint_(0, std::move(hosts)),
        partition_(schedule::Partition::even(schedule::num_chunks(shape), shape)),
        x_(static_cast<std::size_t>(schedule::chunks_per_shard(shape))),
        gather_({.shape = shape, .endpoint = &endpoint_, .max_chunk_rows = 1, .row_bytes = 4}) {
    gather_.attach(endpoint_.open_channel(gather_.channel_shape()));
    const auto rows = static_cast<std::int64_t>(x_.size());
    gather_.begin({.call = 1, .m = partition_.num_rows(), .operation = 2},
                  {x_.data(), DType::kF32, rows, 1, 1}, partition_);
  }
  int awaited_once_here(const std::set<int>& chunks) {
    endpoint_.here.insert(chunks.begin(), chunks.end());
    // Of one host's chunks one is copied at a time.
    for (int i = 0; i < gather_.num_chunks(); ++i) gather_.progress(0);
    EXPECT_EQ(gather_.not_arrived().peer, gather_.awaited_peer());
    return gather_.awaited_peer();
  }

 private:
  FakeEndpoint endpoint_;
  schedule::Partition partition_;
  std::vector<float> x_;
  Gather gather_;
};

// A cut between hosts leaves the ranks of one host waiting for each other's remote chunks.
TEST(Gather, WaitsForTheOwnerOnTheOtherHostBeforeANeighbourThatPassesOn) {
  GatherOf gather(
      {.algorithm = Algorithm::kHierarchical, .num_ranks = 4, .num_pieces = 2, .num_hosts = 2},
      {0, 0, 1, 1});
  EXPECT_EQ(gather.awaited_once_here({2, 3}), 2);  // rank 1's own
  EXPECT_EQ(gather.awaited_once_here({6}), 2);     // rank 1 passes on more than rank 2 has sent
  EXPECT_EQ(gather.awaited_once_here({4, 5}), 1);  // only rank 3's second chunk is missing
  EXPECT_EQ(gather.awaited_once_here({7}), -1);
}

// Half shard 2 r of rank r travels forward and reaches rank 0 from rank 3, 2 r + 1 from rank 1.
TEST(Gather, WaitsForTheOwnersNextToItInARingBeforeWhatTheyPassOn) {
  GatherOf gather({.algorithm = Algorithm::kBidirectional, .num_ranks = 4, .num_slots = 6},
                  {0, 0, 0, 0});
  EXPECT_EQ(gather.awaited_once_here({2, 4}), 3);  // its own, 6, though 5 and 7 of rank 1 miss too
  EXPECT_EQ(gather.awaited_once_here({6}), 1);
  EXPECT_EQ(gather.awaited_once_here({3, 7}), 1);
  EXPECT_EQ(gather.awaited_once_here({5}), -1);
}

}  // namespace
}  // namespace cmm::exec
