// What the bodies of the conformance test share: ranks of one group, and how they wait and take.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/backoff.hpp"
#include "cmm/error.hpp"
#include "transport/transport.hpp"

namespace cmm::transport::conformance {

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

}  // namespace cmm::transport::conformance
