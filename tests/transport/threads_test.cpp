// The conformance body over ranks that are threads.
#include <gtest/gtest.h>

#include "conformance.hpp"
#include "transport/threads/threads.hpp"

namespace cmm::transport {
namespace {

void run_threads(int num_ranks, const conformance::Body& body) {
  std::vector<std::thread> ranks;
  for (const std::shared_ptr<Endpoint>& endpoint : threads::make_endpoints(num_ranks)) {
    ranks.emplace_back([&body, endpoint] { body(*endpoint); });
  }
  for (std::thread& rank : ranks) rank.join();
}

#define CMM_CONFORMANCE_TEST(body) \
  TEST(Threads, body) { conformance::body(run_threads); }
CMM_FOR_EACH_CONFORMANCE_TEST(CMM_CONFORMANCE_TEST)
CMM_CONFORMANCE_TEST(quiesce_waits_for_a_reading_peer)
#undef CMM_CONFORMANCE_TEST

}  // namespace
}  // namespace cmm::transport
