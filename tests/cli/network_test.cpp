// Which hosts are measured together, and what the measurements are summed up to.
#include "network.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

namespace cmm::cli {
namespace {

TEST(PairRounds, LetEveryTwoHostsMeetOnce) {
  for (int num_hosts = 2; num_hosts <= 17; ++num_hosts) {
    std::map<std::pair<int, int>, int> meetings;
    for (int round = 0; round < num_pair_rounds(num_hosts); ++round) {
      int num_alone = 0;
      for (int host = 0; host < num_hosts; ++host) {
        const int partner = pair_partner(host, round, num_hosts);
        ASSERT_NE(partner, host);
        ASSERT_LT(partner, num_hosts);
        if (partner < 0) {
          ++num_alone;
          continue;
        }
        EXPECT_EQ(pair_partner(partner, round, num_hosts), host);
        ++meetings[{host, partner}];
      }
      EXPECT_EQ(num_alone, num_hosts % 2);
    }
    EXPECT_EQ(meetings.size(), static_cast<std::size_t>(num_hosts) * (num_hosts - 1u));
    for (const auto& [hosts, times] : meetings) {
      EXPECT_EQ(times, 1) << hosts.first << " and " << hosts.second << " of " << num_hosts;
    }
  }
}

TEST(NetworkMeasurement, TakesTheSlowestLatencyAndTheSharedBandwidth) {
  NetworkMeasurement measured;
  EXPECT_FALSE(measured.has_links());
  Link link = {.from = 0, .to = 1};
  link.latency_seconds.median = 3e-5;
  link.bytes_per_second.median = 2e9;
  measured.links = {link, link};
  measured.links[1].latency_seconds.median = 7e-5;
  measured.bytes_per_second.median = 1e9;
  EXPECT_TRUE(measured.has_links());
  EXPECT_EQ(measured.network().latency_seconds, 7e-5);
  EXPECT_EQ(measured.network().bytes_per_second, 1e9);
}

}  // namespace
}  // namespace cmm::cli
