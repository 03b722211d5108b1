// What every transport must do, as one test body. A transport's test file gives the way to start
// its ranks; see threads_test.cpp.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
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

// As the executor waits: messages move and peers are looked at.
inline void wait_in(Channel& channel, const std::function<bool()>& happened) {
  const Deadline deadline(kLimit);
  for (Wait wait(channel); !happened(); wait.pause()) {
    channel.poll();
    if (deadline.expired()) throw Error(ErrorCode::kDeadline, "the test waited too long");
  }
}

inline bool same_host(const Endpoint& endpoint, int peer) {
  const std::vector<int>& hosts = endpoint.hosts();
  return hosts[static_cast<std::size_t>(peer)] == hosts[static_cast<std::size_t>(endpoint.rank())];
}

// Brings a peer's chunk of 8-byte rows here, the way its place allows; fetching where either way
// would do and `fetch` is set.
inline std::vector<std::int64_t> take(Endpoint& endpoint, Channel& channel, int peer, int chunk,
                                      std::int64_t num_rows, bool fetch = false) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(num_rows));
  if (fetch || !same_host(endpoint, peer)) {
    channel.fetch(peer, chunk, reinterpret_cast<std::byte*>(values.data()), num_rows, 8);
    wait_in(channel, [&] { return channel.fetched(peer, chunk); });
    return values;
  }
  wait_in(channel, [&] { return channel.offered(peer, chunk); });
  const Rows rows = channel.look(peer, chunk);
  EXPECT_EQ(rows.num_rows, num_rows);
  EXPECT_EQ(rows.row_bytes, 8);
  for (std::int64_t row = 0; row < std::min(num_rows, rows.num_rows); ++row) {
    std::memcpy(&values[static_cast<std::size_t>(row)], rows.data + row * rows.stride_bytes, 8);
  }
  channel.release(peer, chunk);
  return values;
}

// `chunk` of `num_chunks` is offered by this rank to `fetchers`; no other is.
inline ChannelShape offering(int num_chunks, int chunk, std::vector<int> fetchers) {
  ChannelShape shape = {.num_chunks = num_chunks,
                        .fetchers = std::vector<std::vector<int>>(std::size_t(num_chunks)),
                        .own_bytes = 4096,
                        .max_chunk_bytes = 4096};
  shape.fetchers[static_cast<std::size_t>(chunk)] = std::move(fetchers);
  return shape;
}
inline std::vector<int> all_but(int num_ranks, int me) {
  std::vector<int> peers;
  for (int rank = 0; rank < num_ranks; ++rank) {
    if (rank != me) peers.push_back(rank);
  }
  return peers;
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

// Collective.
inline std::unique_ptr<Channel> open_channel(Endpoint& endpoint, const ChannelShape& shape) {
  std::unique_ptr<Channel> channel = endpoint.open_channel(shape);
  channel->connect(Deadline(kLimit));
  return channel;
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

inline void different_headers_are_the_same_error_on_both_ranks(const RunRanks& run) {
  run(2, [&](Endpoint& endpoint) {
    const int me = endpoint.rank();
    const auto channel = open_channel(endpoint, offering(2, me, {1 - me}));
    std::string what;
    const int code = code_of(
        [&] {
          channel->begin({1, 7 + me, 0});
          channel->offer(me, {});
          take(endpoint, *channel, 1 - me, 1 - me, 0);
          wait_in(*channel, [&] { return channel->released(me); });
        },
        &what);
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
    const int code = code_of(
        [&] {
          channel.begin({1, 0, 0});
          channel.offer(me, {});
          take(endpoint, channel, 1 - me, 1 - me, 0);
          wait_in(channel, [&] { return channel.released(me); });
        },
        &what);
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

// All of the above but quiesce_..., which is for transports whose peers read the caller's memory.
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
