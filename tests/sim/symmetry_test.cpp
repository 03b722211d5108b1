// Which ranks a walk may take for all others.
#include "sim/symmetry.hpp"

#include <gtest/gtest.h>

#include "sim/host_network.hpp"
#include "sim/slice_network.hpp"

namespace cmm::sim {
namespace {

using schedule::Algorithm;
using schedule::Partition;
using schedule::Shape;

Symmetry symmetry_of(const Shape& shape, const Network& network, std::int64_t m) {
  return find_symmetry(shape, Partition::even(m, shape), network);
}

TEST(Symmetry, OfHostsIsOneHost) {
  for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kRing, Algorithm::kBidirectional,
                                    Algorithm::kRecursiveDoubling, Algorithm::kHierarchical}) {
    const Shape shape{.algorithm = algorithm, .num_ranks = 12, .num_pieces = 2, .num_hosts = 3};
    const HostNetwork network({.num_ranks = 12, .num_hosts = 3});
    const Symmetry symmetry = symmetry_of(shape, network, 24);
    EXPECT_EQ(symmetry.period, 4) << schedule::algorithm_name(algorithm);
    EXPECT_EQ(symmetry.why_not, "");
    ASSERT_EQ(symmetry.first_link.size(), 3u);  // out, in and memory of host 0
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(symmetry.first_link[i], i);
      EXPECT_EQ(symmetry.links_in_class[i], 3);
      for (int host = 0; host < 3; ++host) EXPECT_EQ(symmetry.class_of_link[3 * host + i], i);
    }
  }
}

TEST(Symmetry, OfARingOnASliceIsOneRank) {
  const SliceNetwork network({{4, 6}, {false, false}, 1, 0});
  const Symmetry ring =
      symmetry_of({.algorithm = Algorithm::kBidirectional, .num_ranks = 24}, network, 48);
  EXPECT_EQ(ring.period, 1);
  ASSERT_EQ(ring.first_link.size(), 2u);  // forward, backward
  EXPECT_EQ(ring.links_in_class, (std::vector<int>{24, 24}));
  const Symmetry direct =
      symmetry_of({.algorithm = Algorithm::kDirect, .num_ranks = 24}, network, 48);
  EXPECT_EQ(direct.period, 24);
  EXPECT_NE(direct.why_not.find("the transfers of direct cross links"), std::string::npos);
}

TEST(Symmetry, SaysWhyThereIsNone) {
  const Shape shape{.algorithm = Algorithm::kRing, .num_ranks = 8};
  EXPECT_EQ(symmetry_of(shape, HostNetwork({.num_ranks = 8, .num_hosts = 3}), 8).why_not,
            "the hosts have different numbers of ranks");
  const Symmetry uneven = symmetry_of(shape, HostNetwork({.num_ranks = 8, .num_hosts = 8}), 9);
  EXPECT_EQ(uneven.why_not, "the 9 rows of x are not spread evenly over 8 ranks");
  EXPECT_EQ(uneven.period, 8);
  EXPECT_EQ(uneven.first_link.size(), 24u);
  const Shape other{.algorithm = Algorithm::kHierarchical, .num_ranks = 8, .num_hosts = 2};
  EXPECT_EQ(symmetry_of(other, HostNetwork({.num_ranks = 8, .num_hosts = 4}), 8).why_not,
            "the schedule of hierarchical differs from rank to rank");
}

// A network that claims to be alike everywhere.
class OddNetwork final : public Network {
 public:
  enum class Odd { kNothing, kRate, kLatency, kLength, kLook, kShared };
  explicit OddNetwork(Odd odd) : odd_(odd) {
    for (int rank = 0; rank < 4; ++rank)
      links_.push_back({"into rank", odd == Odd::kRate && rank == 3 ? 2.0 : 1.0});
  }
  int num_ranks() const override { return 4; }
  const std::vector<Link>& links() const override { return links_; }
  void find_route(int, int to, Route& route) const override {
    const bool odd = to == 3;
    route.links.assign(1, to);
    if (odd && odd_ == Odd::kLength) route.links.push_back(to);
    if (odd && odd_ == Odd::kShared) route.links[0] = 0;
    route.latency_seconds = odd && odd_ == Odd::kLatency ? 2 : 1;
  }
  double seconds_to_look(int, int to) const override {
    return to == 3 && odd_ == Odd::kLook ? 1 : -1;
  }
  std::vector<Site> sites() const override { return {}; }
  int period() const override { return 1; }

 private:
  Odd odd_;
  std::vector<Link> links_;
};

TEST(Symmetry, IsProvedAndNotBelieved) {
  using Odd = OddNetwork::Odd;
  const Shape shape{.algorithm = Algorithm::kRing, .num_ranks = 4};
  EXPECT_EQ(symmetry_of(shape, OddNetwork(Odd::kNothing), 4).period, 1);
  for (const Odd odd : {Odd::kRate, Odd::kLatency, Odd::kLength, Odd::kLook, Odd::kShared})
    EXPECT_EQ(symmetry_of(shape, OddNetwork(odd), 4).period, 4) << static_cast<int>(odd);
}

}  // namespace
}  // namespace cmm::sim
