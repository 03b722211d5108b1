// One rank of a transport whose peers do what the test says.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "transport/transport.hpp"

namespace cmm::test {

struct FakePeers {
  std::set<int> here;                  // chunks that they have offered and sent, no others
  std::set<int> released;              // those of this rank that they have read
  std::function<void()> doze = [] {};  // while this rank sleeps
  std::function<void()> poll = [] {};  // when this rank looks for messages
};

class FakeChannel : public transport::Channel {
 public:
  explicit FakeChannel(const FakePeers& peers) : peers_(peers) {}
  void doze() override { peers_.doze(); }
  void rise() override {}
  void connect(const Deadline&) override {}
  void begin(const transport::CallHeader&) override {}
  void end() override {}
  void check_alive() const override {}
  void check_peers() override {}
  int quiesce(std::chrono::milliseconds) override { return -1; }
  void offer(int, const transport::Rows&) override {}
  bool released(int chunk) override { return peers_.released.contains(chunk); }
  void fetch(int, int, std::byte* to, std::int64_t rows, std::int64_t row_bytes) override {
    std::fill_n(reinterpret_cast<float*>(to), rows * row_bytes / 4, row_);
  }
  bool fetched(int, int chunk) override { return peers_.here.contains(chunk); }
  void poll() override { peers_.poll(); }
  bool any_thread() const override { return true; }
  std::string silence_of(int) const override { return ""; }
  bool offered(int, int chunk) override { return peers_.here.contains(chunk); }
  transport::Rows look(int, int) const override {
    return {reinterpret_cast<const std::byte*>(&row_), 1, 4, 4};
  }
  void release(int, int) override {}

 private:
  const FakePeers& peers_;
  const float row_ = 1;  // of each peer
};

class FakeEndpoint : public transport::Endpoint {
 public:
  FakeEndpoint(int rank, std::vector<int> hosts) : rank_(rank), hosts_(std::move(hosts)) {}
  int rank() const override { return rank_; }
  int num_ranks() const override { return static_cast<int>(hosts_.size()); }
  std::string_view transport_name() const override { return "fake"; }
  const std::vector<int>& hosts() const override { return hosts_; }
  std::vector<std::string> exchange(const std::string&, const Deadline&,
                                    transport::Purpose) override {
    return {};
  }
  std::unique_ptr<transport::Channel> open_channel(const transport::ChannelShape&) override {
    return std::make_unique<FakeChannel>(peers);
  }
  transport::Block allocate(std::int64_t bytes) override {
    const auto memory = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(bytes));
    return {std::shared_ptr<std::byte>(memory, memory->data()), bytes};
  }
  void fail(const Error&) override {}
  void check_alive() const override {}
  void check_usable() const override {}
  void leave(const char*) override {}

  FakePeers peers;

 private:
  int rank_;
  std::vector<int> hosts_;
};

}  // namespace cmm::test
