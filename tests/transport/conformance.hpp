// What every transport must do, as one test body. A transport's test file gives the way to start
// its ranks; see threads_test.cpp.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/text.hpp"
#include "conformance_failures.hpp"
#include "conformance_ranks.hpp"

namespace cmm::transport::conformance {

inline void exchange_gives_every_rank_every_text(const RunRanks& run) {
  for (const int num_ranks : {1, 2, 5}) {
    run(num_ranks, [num_ranks](Endpoint& endpoint) {
      for (int round = 0; round < 50; ++round) {
        const std::string mine = cat("rank ", endpoint.rank(), " round ", round);
        const auto all = endpoint.exchange(mine, Deadline(kLimit));
        ASSERT_EQ(static_cast<int>(all.size()), num_ranks);
        for (int rank = 0; rank < num_ranks; ++rank) {
          ASSERT_EQ(all[static_cast<std::size_t>(rank)], cat("rank ", rank, " round ", round));
        }
      }
    });
  }
}

// Every rank offers one chunk of 3 rows, 2 apart, and reads all others', for many calls in a row;
// one rank is slower than the rest. The content says whose it is and of which call.
inline void chunks_are_read_once_offered_and_kept_until_released(const RunRanks& run) {
  constexpr int kRanks = 4;
  constexpr int kCalls = 300;
  run(kRanks, [](Endpoint& endpoint) {
    const int me = endpoint.rank();
    const auto channel = open_channel(endpoint, offering(kRanks, me, all_but(kRanks, me)));
    std::vector<std::int64_t> memory(6);
    for (int call = 1; call <= kCalls; ++call) {
      for (int row = 0; row < 3; ++row) {
        memory[static_cast<std::size_t>(2 * row)] = 100'000 * me + 10 * call + row;
      }
      channel->begin({static_cast<std::uint64_t>(call), 1, 2});
      channel->offer(me, {reinterpret_cast<const std::byte*>(memory.data()), 3, 8, 16});
      if (me == call % kRanks) std::this_thread::sleep_for(100us);
      for (int peer = 0; peer < kRanks; ++peer) {
        if (peer == me) continue;
        const auto values = take(endpoint, *channel, peer, peer, 3, (call + me + peer) % 2 == 0);
        for (int row = 0; row < 3; ++row) {
          ASSERT_EQ(values[static_cast<std::size_t>(row)], 100'000 * peer + 10 * call + row);
        }
      }
      wait_in(*channel, [&] { return channel->released(me); });
      channel->end();
    }
  });
}

// Rank 1 passes on to rank 2, out of memory that its endpoint gave, what it fetches from rank 0.
inline void a_fetched_chunk_is_passed_on(const RunRanks& run) {
  run(3, [](Endpoint& endpoint) {
    const int me = endpoint.rank();
    const std::vector<int> next = me < 2 ? std::vector<int>{me + 1} : std::vector<int>{};
    const auto channel = open_channel(endpoint, offering(1, 0, next));
    const Block slot = endpoint.allocate(4096);
    for (int call = 1; call <= 50; ++call) {
      std::vector<std::int64_t> own(5, call);
      auto* rows = reinterpret_cast<std::byte*>(own.data());
      channel->begin({static_cast<std::uint64_t>(call), 0, 0});
      if (me > 0) {
        rows = slot.data.get();
        channel->fetch(me - 1, 0, rows, 5, 8);
        wait_in(*channel, [&] { return channel->fetched(me - 1, 0); });
        for (int row = 0; row < 5; ++row) ASSERT_EQ(slot.data_as<std::int64_t>()[row], call);
      }
      if (me < 2) {
        channel->offer(0, {rows, 5, 8, 8});
        wait_in(*channel, [&] { return channel->released(0); });
      }
      channel->end();
    }
  });
}

// Rows of no bytes, and no rows, arrive too.
inline void empty_chunks_arrive(const RunRanks& run) {
  run(2, [](Endpoint& endpoint) {
    const int me = endpoint.rank();
    const auto channel = open_channel(endpoint, offering(2, me, all_but(2, me)));
    for (int call = 1; call <= 4; ++call) {
      const std::int64_t num_rows = call % 2, row_bytes = call < 3 ? 0 : 8 * (1 - call % 2);
      channel->begin({static_cast<std::uint64_t>(call), 0, 0});
      channel->offer(me, {nullptr, num_rows, row_bytes, row_bytes});
      channel->fetch(1 - me, 1 - me, nullptr, num_rows, row_bytes);
      wait_in(*channel, [&] { return channel->fetched(1 - me, 1 - me); });
      wait_in(*channel, [&] { return channel->released(me); });
      channel->end();
    }
  });
}

inline void a_chunk_is_not_released_before_all_fetchers_have(const RunRanks& run) {
  run(3, [](Endpoint& endpoint) {
    const std::vector<int>& hosts = endpoint.hosts();
    if (hosts[1] != hosts[0] || hosts[2] != hosts[0]) return;  // a message sent is released
    const int me = endpoint.rank();
    const auto channel = open_channel(
        endpoint, offering(1, 0, me == 0 ? std::vector<int>{1, 2} : std::vector<int>{}));
    channel->begin({1, 0, 0});
    if (me == 0) {
      channel->offer(0, {});
      endpoint.exchange("rank 1 has released", Deadline(kLimit));
      EXPECT_FALSE(channel->released(0));
      endpoint.exchange("rank 2 may release", Deadline(kLimit));
      wait_in(*channel, [&] { return channel->released(0); });
    } else {
      wait_in(*channel, [&] { return channel->offered(0, 0); });
      if (me == 1) channel->release(0, 0);
      endpoint.exchange("", Deadline(kLimit));
      endpoint.exchange("", Deadline(kLimit));
      if (me == 2) channel->release(0, 0);
    }
    channel->end();
  });
}

inline void channels_of_one_group_do_not_mix(const RunRanks& run) {
  run(2, [](Endpoint& endpoint) {
    const int me = endpoint.rank();
    const ChannelShape shape = offering(2, me, {1 - me});
    const auto first = open_channel(endpoint, shape);
    const auto second = open_channel(endpoint, shape);
    for (int call = 1; call <= 3; ++call) {
      for (Channel* channel : {second.get(), first.get()}) {
        const std::int64_t mine = 10 * call + me + (channel == first.get() ? 100 : 0);
        channel->begin({static_cast<std::uint64_t>(call), 0, 0});
        channel->offer(me, {reinterpret_cast<const std::byte*>(&mine), 1, 8, 8});
        EXPECT_EQ(take(endpoint, *channel, 1 - me, 1 - me, 1)[0], mine - me + (1 - me));
        wait_in(*channel, [&] { return channel->released(me); });
        channel->end();
      }
    }
  });
}

// Texts of several rounds, of different length on each rank.
inline void long_texts_are_exchanged_whole(const RunRanks& run) {
  run(3, [](Endpoint& endpoint) {
    for (int round = 0; round < 4; ++round) {
      const auto text_of = [round](int rank) {
        return std::string(static_cast<std::size_t>(1 + 7001 * rank * round),
                           static_cast<char>('a' + rank + round));
      };
      const auto all = endpoint.exchange(text_of(endpoint.rank()), Deadline(kLimit));
      for (int rank = 0; rank < 3; ++rank) {
        ASSERT_EQ(all[static_cast<std::size_t>(rank)], text_of(rank));
      }
    }
  });
}

// Memory that is given back is not reused while a peer may look at it.
inline void plans_come_and_go(const RunRanks& run) {
  run(3, [](Endpoint& endpoint) {
    const int me = endpoint.rank();
    for (int round = 1; round <= 100; ++round) {
      const auto channel = open_channel(endpoint, offering(3, me, all_but(3, me)));
      const std::int64_t mine = 10 * round + me;
      channel->begin({1, 0, 0});
      channel->offer(me, {reinterpret_cast<const std::byte*>(&mine), 1, 8, 8});
      for (const int peer : all_but(3, me)) {
        ASSERT_EQ(take(endpoint, *channel, peer, peer, 1)[0], 10 * round + peer);
      }
      wait_in(*channel, [&] { return channel->released(me); });
      channel->end();
    }
  });
}

// All bodies but quiesce_..., which is for transports whose peers read the caller's memory.
#define CMM_FOR_EACH_CONFORMANCE_TEST(test)                                                        \
  test(exchange_gives_every_rank_every_text) test(long_texts_are_exchanged_whole) test(            \
      chunks_are_read_once_offered_and_kept_until_released) test(a_fetched_chunk_is_passed_on)     \
      test(empty_chunks_arrive) test(a_chunk_of_another_extent_is_refused) test(                   \
          a_chunk_is_not_released_before_all_fetchers_have) test(channels_of_one_group_do_not_mix) \
          test(different_headers_are_the_same_error_on_both_ranks)                                 \
              test(a_different_order_of_calls_is_an_error_on_both_ranks)                           \
                  test(a_call_that_meets_an_exchange_is_an_error_on_both_ranks)                    \
                      test(a_failure_reaches_every_wait_with_its_cause)                            \
                          test(a_failure_reaches_an_exchange) test(a_rank_that_left_is_named)      \
                              test(an_exchange_ends_at_its_deadline_and_names_the_rank)            \
                                  test(plans_come_and_go)

}  // namespace cmm::transport::conformance
