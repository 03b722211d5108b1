// What every transport must do where ranks differ, fail, leave or do not come.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "conformance_ranks.hpp"

namespace cmm::transport::conformance {

using namespace std::chrono_literals;

inline void a_chunk_of_another_extent_is_refused(const RunRanks& run) {
  run(2, [](Endpoint& endpoint) {
    const int me = endpoint.rank();
    const auto channel =
        open_channel(endpoint, offering(1, 0, me == 0 ? std::vector<int>{1} : std::vector<int>{}));
    std::vector<std::int64_t> memory(4);
    auto* data = reinterpret_cast<std::byte*>(memory.data());
    channel->begin({1, 0, 0});
    if (me == 0) {
      channel->offer(0, {data, 4, 8, 8});
      // A message is released once sent: the sender then learns of it by what comes next.
      EXPECT_NE(code_of([&] {
                  wait_in(*channel, [&] { return channel->released(0); });
                  endpoint.exchange("", Deadline(kLimit));
                }),
                -1);
    } else {
      channel->fetch(0, 0, data, 3, 8);
      std::string what;
      const int code =
          code_of([&] { wait_in(*channel, [&] { return channel->fetched(0, 0); }); }, &what);
      EXPECT_EQ(code, static_cast<int>(ErrorCode::kInvalidArgument)) << what;
      endpoint.fail(Error(ErrorCode::kInvalidArgument, what));
    }
    channel->end();
  });
}

// A call of two ranks: each offers its rows, takes the other's and waits until its own are
// released.
inline void swap_rows(Endpoint& endpoint, Channel& channel, const CallHeader& header) {
  const int me = endpoint.rank();
  channel.begin(header);
  channel.offer(me, {});
  take(endpoint, channel, 1 - me, 1 - me, 0);
  wait_in(channel, [&] { return channel.released(me); });
}

inline void different_headers_are_the_same_error_on_both_ranks(const RunRanks& run) {
  run(2, [&](Endpoint& endpoint) {
    const int me = endpoint.rank();
    const auto channel = open_channel(endpoint, offering(2, me, {1 - me}));
    std::string what;
    const int code = code_of([&] { swap_rows(endpoint, *channel, {1, 7 + me, 0}); }, &what);
    EXPECT_EQ(code, static_cast<int>(ErrorCode::kInvalidArgument));
    EXPECT_NE(what.find("m=7"), std::string::npos) << what;
    EXPECT_NE(what.find("m=8"), std::string::npos) << what;
    channel->end();
  });
}

// Rank 0 calls the first plan, rank 1 the second.
inline void a_different_order_of_calls_is_an_error_on_both_ranks(const RunRanks& run) {
  run(2, [&](Endpoint& endpoint) {
    const int me = endpoint.rank();
    const ChannelShape shape = offering(2, me, {1 - me});
    const auto first = open_channel(endpoint, shape);
    const auto second = open_channel(endpoint, shape);
    Channel& channel = me == 0 ? *first : *second;
    std::string what;
    const int code = code_of([&] { swap_rows(endpoint, channel, {1, 0, 0}); }, &what);
    EXPECT_EQ(code, static_cast<int>(ErrorCode::kInvalidArgument));
    EXPECT_NE(what.find("calls plan 1"), std::string::npos) << what;
    EXPECT_NE(what.find("calls plan 2"), std::string::npos) << what;
    channel.end();
  });
}

// Rank 0 makes a plan while rank 1 calls one.
inline void a_call_that_meets_an_exchange_is_an_error_on_both_ranks(const RunRanks& run) {
  run(2, [&](Endpoint& endpoint) {
    const int me = endpoint.rank();
    const auto channel = open_channel(endpoint, offering(2, me, {1 - me}));
    std::string what;
    const int code = code_of(
        [&] {
          if (me == 0) {
            endpoint.exchange("", Deadline(kLimit), Purpose::kPlan);
          } else {
            channel->begin({1, 0, 0});
            channel->offer(me, {});
            take(endpoint, *channel, 0, 0, 0);
          }
        },
        &what);
    EXPECT_EQ(code, static_cast<int>(ErrorCode::kInvalidArgument));
    EXPECT_NE(what.find("calls plan 1"), std::string::npos) << what;
    EXPECT_NE(what.find("makes a plan"), std::string::npos) << what;
  });
}

inline void a_failure_reaches_every_wait_with_its_cause(const RunRanks& run) {
  run(4, [](Endpoint& endpoint) {
    const int me = endpoint.rank();
    std::unique_ptr<Channel> channel;
    const auto begin = [&] {
      channel = open_channel(
          endpoint, offering(1, 0, me == 0 ? std::vector<int>{1, 2, 3} : std::vector<int>{}));
      channel->begin({1, 0, 0});
    };
    if (me == 2) {
      begin();
      std::this_thread::sleep_for(5ms);
      endpoint.fail(Error(ErrorCode::kOutOfMemory, "no memory on purpose", 2));
      EXPECT_EQ(code_of([&] { endpoint.check_alive(); }),
                static_cast<int>(ErrorCode::kOutOfMemory));
    } else {
      std::string what;
      const int code = code_of(
          [&] {
            begin();  // where a rank is late, it may hear of the failure here already
            if (me == 0) {
              channel->offer(0, {});
              wait_in(*channel, [&] { return channel->released(0) && false; });
            } else {
              // Nobody offers chunk 0 as rank 1: this waits for ever.
              const int peer = me == 1 ? 3 : 1;
              channel->fetch(peer, 0, nullptr, 0, 0);
              wait_in(*channel, [&] { return channel->fetched(peer, 0); });
            }
          },
          &what);
      EXPECT_EQ(code, static_cast<int>(ErrorCode::kPeerFailed));
      EXPECT_EQ(what, "rank 2 failed: no memory on purpose");
      endpoint.fail(Error(ErrorCode::kPeerFailed, what, 2));
    }
    if (channel != nullptr) channel->end();
    EXPECT_EQ(code_of([&] { endpoint.check_usable(); }), static_cast<int>(ErrorCode::kMeshDead));
  });
}

inline void expect_exchange_fails(Endpoint& endpoint, const std::string& text) {
  std::string what;
  const int code = code_of([&] { endpoint.exchange("", Deadline(kLimit)); }, &what);
  EXPECT_EQ(code, static_cast<int>(ErrorCode::kPeerFailed));
  EXPECT_EQ(what, text);
}

inline void a_failure_reaches_an_exchange(const RunRanks& run) {
  run(3, [](Endpoint& endpoint) {
    if (endpoint.rank() == 2) {
      std::this_thread::sleep_for(5ms);
      endpoint.fail(Error(ErrorCode::kOutOfMemory, "no memory on purpose", 2));
      return;
    }
    expect_exchange_fails(endpoint, "rank 2 failed: no memory on purpose");
  });
}

inline void a_rank_that_left_is_named(const RunRanks& run) {
  run(3, [](Endpoint& endpoint) {
    if (endpoint.rank() == 1) {
      endpoint.leave("it had enough");
      return;
    }
    expect_exchange_fails(endpoint, "rank 1 has left the mesh: it had enough");
  });
}

inline void an_exchange_ends_at_its_deadline_and_names_the_rank(const RunRanks& run) {
  run(2, [](Endpoint& endpoint) {
    if (endpoint.rank() == 1) {
      // Until rank 0 has failed the axis. Between hosts only a rank that waits itself hears of it.
      const Deadline late(2000ms);
      while (!late.expired() && code_of([&] { endpoint.check_alive(); }) == -1) {
        std::this_thread::sleep_for(1ms);
      }
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
    const auto channel = open_channel(endpoint, offering(1, 0, {}));
    channel->begin({1, 0, 0});
    if (endpoint.rank() == 1) {
      // Rank 0 may fail the group before this rank has seen its text.
      code_of([&] { endpoint.exchange("rank 1 reads", Deadline(kLimit)); });
      wait_for([&] { return code_of([&] { endpoint.check_alive(); }) != -1; });
      std::this_thread::sleep_for(50ms);
      channel->end();
    } else {
      endpoint.exchange("", Deadline(kLimit));
      channel->end();
      endpoint.fail(Error(ErrorCode::kPeerFailed, "on purpose", 0));
      EXPECT_EQ(channel->quiesce(1ms), 1);
      EXPECT_EQ(channel->quiesce(kLimit), -1);
      // Whoever enters now reads nothing.
      EXPECT_NE(code_of([&] { channel->begin({1, 0, 0}); }), -1);
    }
  });
}

}  // namespace cmm::transport::conformance
