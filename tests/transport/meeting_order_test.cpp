// The server of a meeting under every order of events that a generator of random numbers finds:
// whatever ranks do and whenever they do it, all of them see the same meetings end the same way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "base/text.hpp"
#include "transport/shm/meeting.hpp"

namespace cmm::transport::shm {
namespace {

// A rank that makes meshes one after the other, one step at a time.
struct Client {
  UniqueFd socket;
  int rank = 0;
  enum class State { kIdle, kAsked, kAnswered, kAttached } state = State::kIdle;
  std::uint64_t nonce = 0;
  std::vector<std::string> verdicts;
};

class Job {
 public:
  Job(int num_ranks, unsigned seed)
      : server_({.num_ranks = num_ranks, .token = ""}), random_(seed) {
    for (int rank = 0; rank < num_ranks; ++rank) {
      auto [of_server, of_rank] = socket_pair();
      server_.add(std::move(of_server), rank);
      clients_.push_back({.socket = std::move(of_rank), .rank = rank, .verdicts = {}});
    }
  }

  void run(int num_steps) {
    for (int step = 0; step < num_steps; ++step) {
      Client& client = clients_[random_() % clients_.size()];
      receive(client);
      act(client);
      if (random_() % 3 != 0) server_.serve();
    }
    // Nobody starts anything new: all that has begun must end.
    for (int round = 0; round < 20; ++round) {
      for (Client& client : clients_) {
        receive(client);
        if (client.state == Client::State::kIdle && behind(client)) ask(client, false);
        if (client.state == Client::State::kAnswered) attach(client, false);
      }
      server_.serve();
    }
  }

  void check() const {
    for (const Client& client : clients_) {
      EXPECT_EQ(client.verdicts, clients_[0].verdicts) << "rank " << client.rank;
    }
  }
  std::size_t num_meetings() const { return clients_[0].verdicts.size(); }
  std::size_t num_meshes() const {
    return static_cast<std::size_t>(
        std::count(clients_[0].verdicts.begin(), clients_[0].verdicts.end(), "go"));
  }

 private:
  bool one_in(unsigned n) { return random_() % n == 0; }
  bool behind(const Client& client) const {
    for (const Client& other : clients_) {
      if (other.verdicts.size() > client.verdicts.size() ||
          (other.verdicts.size() == client.verdicts.size() &&
           other.state != Client::State::kIdle)) {
        return true;
      }
    }
    return false;
  }

  Message message(const Client& client, Kind kind) const {
    Message result;
    result.kind = kind;
    result.nonce = client.nonce;
    result.rank = client.rank;
    return result;
  }
  void send(const Client& client, const Message& sent) {
    ASSERT_EQ(send_message(client.socket.get(), &sent, sizeof sent), Sent::kYes);
  }
  void fail(Message& sent, const Client& client) {
    set_failure(sent, {ErrorCode::kOutOfMemory, client.rank, cat("failure ", ++num_failures_)});
  }

  void ask(Client& client, bool mischief) {
    client.nonce = random_() | 1u;
    client.state = Client::State::kAsked;
    Message sent = message(client, Kind::kAsk);
    sent.num_ranks = sent.axes_ranks = static_cast<int>(clients_.size());
    sent.region_bytes = 1 << 20;
    sent.deadline_ms = 1'000'000;
    if (mischief && one_in(8)) fail(sent, client);
    if (mischief && one_in(8)) sent.axes_fingerprint = random_() % 2;
    if (mischief && one_in(30)) sent.num_ranks = static_cast<int>(random_() % 6);
    if (mischief && one_in(30)) sent.rank = static_cast<int>(random_() % 6) - 1;
    send(client, sent);
  }
  void attach(Client& client, bool mischief) {
    client.state = Client::State::kAttached;
    Message sent = message(client, Kind::kAttached);
    if (mischief && one_in(6)) fail(sent, client);
    send(client, sent);
  }
  void act(Client& client) {
    if (client.state != Client::State::kIdle && one_in(20)) {
      Message sent = message(client, Kind::kWithdraw);  // its verdict is still to come
      fail(sent, client);
      send(client, sent);
    } else if (client.state == Client::State::kIdle) {
      ask(client, true);
    } else if (client.state == Client::State::kAnswered) {
      attach(client, true);
    }
  }
  void receive(Client& client) {
    for (;;) {
      std::vector<char> bytes(sizeof(Message) + clients_.size() * sizeof(Process));
      const Received received = receive_message(client.socket.get(), bytes.data(), bytes.size());
      if (received.state != Received::State::kMessage) return;
      Message head;
      std::memcpy(&head, bytes.data(), sizeof head);
      if (head.nonce != client.nonce) continue;
      if (head.kind == Kind::kAnswer) {
        EXPECT_TRUE(received.descriptor);
        if (client.state == Client::State::kAsked) client.state = Client::State::kAnswered;
      } else if (client.state != Client::State::kIdle) {
        EXPECT_EQ(head.kind, Kind::kVerdict);
        client.verdicts.push_back(head.code == kSuccess ? "go" : text_of(head));
        client.state = Client::State::kIdle;
      }
    }
  }

  MeetingServer server_;
  std::mt19937 random_;
  std::vector<Client> clients_;
  int num_failures_ = 0;
};

TEST(MeetingServer, EndsEveryMeetingAlikeForAllRanks) {
  std::size_t num_meetings = 0, num_meshes = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    Job job(1 + static_cast<int>(seed % 5), seed);
    job.run(300);
    job.check();
    num_meetings += job.num_meetings();
    num_meshes += job.num_meshes();
    if (testing::Test::HasFailure()) {
      FAIL() << "seed " << seed;
    }
  }
  EXPECT_GT(num_meshes, 1000u);
  EXPECT_GT(num_meetings, num_meshes + 1000u);
}

}  // namespace
}  // namespace cmm::transport::shm
