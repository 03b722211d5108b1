// The conformance body over ranks that are threads.
#include <gtest/gtest.h>

#include "conformance.hpp"
#include "transport/threads/group.hpp"

namespace cmm::transport {
namespace {

void run_threads(int num_ranks, const conformance::Body& body) {
  const auto group = std::make_shared<threads::Group>(num_ranks);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < num_ranks; ++rank) {
    ranks.emplace_back([&, endpoint = threads::make_endpoint(group, rank)] { body(*endpoint); });
  }
  for (std::thread& rank : ranks) rank.join();
}

#define CMM_CONFORMANCE_TEST(body) \
  TEST(Threads, body) { conformance::body(run_threads); }
CMM_CONFORMANCE_TEST(exchange_gives_every_rank_every_text)
CMM_CONFORMANCE_TEST(chunks_are_read_once_offered_and_kept_until_released)
CMM_CONFORMANCE_TEST(a_chunk_is_not_released_before_all_fetchers_have)
CMM_CONFORMANCE_TEST(channels_of_one_group_do_not_mix)
CMM_CONFORMANCE_TEST(different_headers_are_the_same_error_on_both_ranks)
CMM_CONFORMANCE_TEST(a_failure_reaches_every_wait_with_its_cause)
CMM_CONFORMANCE_TEST(a_rank_that_left_is_named)
CMM_CONFORMANCE_TEST(an_exchange_ends_at_its_deadline_and_names_the_rank)
CMM_CONFORMANCE_TEST(quiesce_waits_for_a_reading_peer)
#undef CMM_CONFORMANCE_TEST

}  // namespace
}  // namespace cmm::transport
