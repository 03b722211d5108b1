// Of all the chunks a rank waits for it names one whose giver can wait for nobody: the owner.
#include "exec/gather.hpp"

#include <gtest/gtest.h>

#include <set>

#include "support/fake_endpoint.hpp"

namespace cmm::exec {
namespace {

using schedule::Algorithm;
using test::FakeEndpoint;

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
    endpoint_.peers.here.insert(chunks.begin(), chunks.end());
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
