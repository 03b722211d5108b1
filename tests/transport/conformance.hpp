// What every transport must do, as one test body. A transport's test file gives the way to start
// its ranks; see threads_test.cpp.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/backoff.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "transport/transport.hpp"

namespace cmm::transport::conformance {

using namespace std::chrono_literals;

// Runs body(endpoint) on `num_ranks` ranks of one new group and returns when all have ended.
using Body = std::function<void(Endpoint&)>;
using RunRanks = std::function<void(int num_ranks, const Body& body)>;

inline constexpr std::chrono::milliseconds kLimit{20'000};

inline void wait_for(const std::function<bool()>& happened) {
  const Deadline deadline(kLimit);
  for (Backoff backoff; !happened(); backoff.pause()) {
    if (deadline.expired()) throw Error(ErrorCode::kDeadline, "the test waited too long");
  }
}

// The code a rank's body ended with; -1: it returned.
inline int code_of(const std::function<void()>& body, std::string* what = nullptr) {
  try {
    body();
  } catch (const Error& error) {
    if (what != nullptr) *what = error.what();
    return static_cast<int>(error.code());
  }
  return -1;
}

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
    ChannelShape shape = {kRanks, std::vector<int>(kRanks, 0)};
    shape.num_fetchers[static_cast<std::size_t>(me)] = kRanks - 1;
    const auto channel = endpoint.open_channel(shape, Deadline(kLimit));
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
        wait_for([&] { return channel->offered(peer, peer); });
        const Rows rows = channel->look(peer, peer);
        ASSERT_EQ(rows.num_rows, 3);
        for (int row = 0; row < 3; ++row) {
          const auto* value =
              reinterpret_cast<const std::int64_t*>(rows.data + row * rows.stride_bytes);
          ASSERT_EQ(*value, 100'000 * peer + 10 * call + row);
        }
        channel->release(peer, peer);
      }
      wait_for([&] { return channel->released(me); });
      channel->end();
    }
  });
}

inline void a_chunk_is_not_released_before_all_fetchers_have(const RunRanks& run) {
  run(3, [](Endpoint& endpoint) {
    ChannelShape shape = {1, {endpoint.rank() == 0 ? 2 : 0}};
    const auto channel = endpoint.open_channel(shape, Deadline(kLimit));
    channel->begin({1, 0, 0});
    if (endpoint.rank() == 0) {
      channel->offer(0, {});
      endpoint.exchange("rank 1 has released", Deadline(kLimit));
      EXPECT_FALSE(channel->released(0));
      endpoint.exchange("rank 2 may release", Deadline(kLimit));
      wait_for([&] { return channel->released(0); });
    } else {
      wait_for([&] { return channel->offered(0, 0); });
      if (endpoint.rank() == 1) channel->release(0, 0);
      endpoint.exchange("", Deadline(kLimit));
      endpoint.exchange("", Deadline(kLimit));
      if (endpoint.rank() == 2) channel->release(0, 0);
    }
    channel->end();
  });
}

inline void channels_of_one_group_do_not_mix(const RunRanks& run) {
  run(2, [](Endpoint& endpoint) {
    const int me = endpoint.rank();
    const ChannelShape shape = {2, {me == 0 ? 1 : 0, me == 1 ? 1 : 0}};
    const auto first = endpoint.open_channel(shape, Deadline(kLimit));
    const auto second = endpoint.open_channel(shape, Deadline(kLimit));
    second->begin({1, 0, 0});
    second->offer(me, {});
    wait_for([&] { return second->offered(1 - me, 1 - me); });
    first->begin({1, 0, 0});
    EXPECT_FALSE(first->offered(1 - me, 1 - me));
    endpoint.exchange("", Deadline(kLimit));
    first->offer(me, {});
    wait_for([&] { return first->offered(1 - me, 1 - me); });
    for (const auto& channel : {first.get(), second.get()}) channel->release(1 - me, 1 - me);
    wait_for([&] { return first->released(me) && second->released(me); });
  });
}

inline void different_headers_are_the_same_error_on_both_ranks(const RunRanks& run) {
  std::vector<std::string> messages(2);
  run(2, [&](Endpoint& endpoint) {
    const int me = endpoint.rank();
    const ChannelShape shape = {2, {me == 0 ? 1 : 0, me == 1 ? 1 : 0}};
    const auto channel = endpoint.open_channel(shape, Deadline(kLimit));
    const int code = code_of(
        [&] {
          channel->begin({1, 7 + me, 0});
          channel->offer(me, {});
          wait_for([&] { return channel->offered(1 - me, 1 - me); });
        },
        &messages[static_cast<std::size_t>(me)]);
    EXPECT_EQ(code, static_cast<int>(ErrorCode::kInvalidArgument));
    channel->end();
  });
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_NE(messages[0].find("m=7"), std::string::npos) << messages[0];
  EXPECT_NE(messages[0].find("m=8"), std::string::npos) << messages[0];
}

inline void a_failure_reaches_every_wait_with_its_cause(const RunRanks& run) {
  run(4, [](Endpoint& endpoint) {
    const auto channel =
        endpoint.open_channel({1, {endpoint.rank() == 0 ? 3 : 0}}, Deadline(kLimit));
    if (endpoint.rank() == 2) {
      std::this_thread::sleep_for(5ms);
      endpoint.fail(Error(ErrorCode::kOutOfMemory, "no memory on purpose", 2));
      EXPECT_EQ(code_of([&] { endpoint.check_alive(); }),
                static_cast<int>(ErrorCode::kOutOfMemory));
    } else {
      std::string what;
      const int code = code_of(
          [&] {
            if (endpoint.rank() == 3) endpoint.exchange("", Deadline(kLimit));
            channel->begin({1, 0, 0});
            if (endpoint.rank() == 0) {
              channel->offer(0, {});
              wait_for([&] { return channel->released(0); });
            } else {
              // Rank 0 offers, but nobody offers chunk 0 as rank 1: this waits for ever.
              wait_for([&] { return channel->offered(1, 0); });
            }
          },
          &what);
      EXPECT_EQ(code, static_cast<int>(ErrorCode::kPeerFailed));
      EXPECT_EQ(what, "rank 2 failed: no memory on purpose");
      endpoint.fail(Error(ErrorCode::kPeerFailed, what, 2));
    }
    EXPECT_EQ(code_of([&] { endpoint.check_usable(); }), static_cast<int>(ErrorCode::kMeshDead));
  });
}

inline void a_rank_that_left_is_named(const RunRanks& run) {
  run(3, [](Endpoint& endpoint) {
    if (endpoint.rank() == 1) {
      endpoint.leave("it had enough");
      return;
    }
    std::string what;
    const int code = code_of([&] { endpoint.exchange("", Deadline(kLimit)); }, &what);
    EXPECT_EQ(code, static_cast<int>(ErrorCode::kPeerFailed));
    EXPECT_EQ(what, "rank 1 has left the mesh: it had enough");
  });
}

inline void an_exchange_ends_at_its_deadline_and_names_the_rank(const RunRanks& run) {
  run(2, [](Endpoint& endpoint) {
    if (endpoint.rank() == 1) {
      std::this_thread::sleep_for(300ms);
      return;
    }
    std::string what;
    const auto begin = std::chrono::steady_clock::now();
    const int code = code_of([&] { endpoint.exchange("", Deadline(50ms)); }, &what);
    const auto waited = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(code, static_cast<int>(ErrorCode::kDeadline));
    EXPECT_NE(what.find("rank 1"), std::string::npos) << what;
    EXPECT_NE(what.find("50 ms"), std::string::npos) << what;
    EXPECT_GE(waited, 50ms);
  });
}

// A failing rank may free its rows only once its peers read no more.
inline void quiesce_waits_for_a_reading_peer(const RunRanks& run) {
  run(2, [](Endpoint& endpoint) {
    const auto channel = endpoint.open_channel({1, {0}}, Deadline(kLimit));
    if (endpoint.rank() == 1) {
      channel->begin({1, 0, 0});
      // Rank 0 may fail the group before this rank has seen its text.
      code_of([&] { endpoint.exchange("rank 1 reads", Deadline(kLimit)); });
      wait_for([&] { return code_of([&] { endpoint.check_alive(); }) != -1; });
      std::this_thread::sleep_for(50ms);
      channel->end();
    } else {
      endpoint.exchange("", Deadline(kLimit));
      endpoint.fail(Error(ErrorCode::kPeerFailed, "on purpose", 0));
      EXPECT_EQ(channel->quiesce(1ms), 1);
      EXPECT_EQ(channel->quiesce(kLimit), -1);
      // Whoever enters now reads nothing.
      EXPECT_NE(code_of([&] { channel->begin({1, 0, 0}); }), -1);
    }
  });
}

}  // namespace cmm::transport::conformance
