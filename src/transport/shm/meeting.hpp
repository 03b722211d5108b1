// How processes become the ranks of a mesh. They meet at a server: the launcher that started them,
// or rank 0 behind a socket that all were told. All it gives them is a file without a name and the
// list of their processes; the rest of the mesh lies in the file.
//
//   rank            server
//   ask      --->            one from each rank; compared
//            <---   answer   to all, with the memory, once all have asked
//   attached --->            one from each rank
//            <---   verdict  to all, once all have attached: go
//
// Whatever goes wrong, on whichever rank, is a verdict to all of them: either every rank gets the
// mesh or every rank gets the same error. Ranks that had not asked when it went wrong get it as the
// answer to their next ask, so that all have seen the same number of meetings.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "transport/shm/arena.hpp"
#include "transport/shm/message.hpp"
#include "transport/shm/socket.hpp"

namespace cmm::transport::shm {

// The server. It never blocks: its owner calls serve() whenever descriptor() can be read.
class MeetingServer {
 public:
  struct Config {
    int num_ranks = 1;
    std::string token;         // at most kMaxTokenBytes
    bool one_meeting = false;  // rank 0's: ends with its first verdict
  };
  // Throws Error(kOutOfMemory) where no descriptors are free.
  explicit MeetingServer(const Config& config);

  // One way in which ranks come: a connection that is rank `rank`'s, or a place to connect to,
  // which is closed as soon as all have asked.
  void add(UniqueFd connection, int rank);
  void listen(std::unique_ptr<Listener> listener);

  int descriptor() const { return events_.get(); }
  void serve();

  // Rank `rank` has ended and will not ask again; `how` completes "rank 2 ...".
  void lose(int rank, const std::string& how);

  // Every rank has got a verdict, where there is one meeting only.
  bool all_told() const;
  // Ranks that have not asked, and connections that were refused, for messages.
  std::string missing() const;

 private:
  struct Connection {
    UniqueFd socket;
    int rank = -1;  // -1: not said yet
  };
  enum class Place { kAbsent, kAsked, kAttached, kLost };
  struct Seat {
    Place place = Place::kAbsent;
    int connection = -1;  // key of connections_
    std::uint64_t nonce = 0;
    Process process;
    std::string lost_how;
    std::deque<Failure> owed;  // of meetings that failed before this rank asked, the oldest first
    bool told = false;
  };
  using Clock = std::chrono::steady_clock;

  void accept_all();
  void receive_all(int key);
  void handle(int key, const Message& message);
  void ask(int key, const Message& message);
  std::optional<Failure> objection(int key, const Message& message) const;
  void attached(int key, const Message& message);
  void close(int key, const std::string& how);
  void refuse(int key, const std::string& why);

  void answer_all();
  void go();
  void fail(const Failure& failure);
  void tell(Seat& seat, const Failure& failure);
  void forget_round();
  void check_deadline();
  void set_timer();
  Seat& seat(int rank) { return seats_[static_cast<std::size_t>(rank)]; }
  int count(Place place) const;
  void watch(int descriptor);

  const Config config_;
  UniqueFd events_;  // epoll of all below
  UniqueFd timer_;
  std::unique_ptr<Listener> listener_;
  std::map<int, Connection> connections_;  // by descriptor
  std::vector<Seat> seats_;                // by rank
  std::optional<Failure> ended_;           // of the one meeting
  int num_refused_ = 0;

  // Of the meeting that goes on.
  std::optional<Message> first_ask_;
  bool attaching_ = false;
  std::int64_t region_bytes_ = 0;
  std::optional<Clock::time_point> deadline_;  // the earliest of the ranks'
  std::int64_t deadline_ms_ = 0;
  int deadline_rank_ = -1;
};

// A rank's part.
struct MeetRequest {
  int rank = 0;
  int num_ranks = 1;
  int axes_ranks = 1;
  std::uint64_t axes_fingerprint = 0;
  std::string axes;  // in words
  std::string token;
  std::int64_t control_bytes = 0;
  std::optional<Failure> failure;  // this rank cannot take part, and tells the others
};
// Where the server is: the other end of a connection, and the server itself where this rank runs
// it.
struct Line {
  int socket = -1;
  MeetingServer* server = nullptr;
};
// Collective over the ranks of the server: the memory of a new mesh, or the same error on every
// rank.
std::shared_ptr<Arena> meet(const Line& line, const MeetRequest& request, const Deadline& deadline);

// Meets behind a socket that rank 0 makes; `address` as Listener says. It is gone when this
// returns or throws.
std::shared_ptr<Arena> meet_at(const std::string& address, const MeetRequest& request,
                               const Deadline& deadline);

}  // namespace cmm::transport::shm
