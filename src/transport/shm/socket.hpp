// Unix sockets of messages: opening, meeting at a path, sending and receiving with one descriptor.
// Nothing here blocks for longer than a deadline, and nothing raises SIGPIPE.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "transport/shm/unique_fd.hpp"

namespace cmm::transport::shm {

// Both ends non-blocking and closed by exec. Throws Error(kOutOfMemory).
std::pair<UniqueFd, UniqueFd> socket_pair();

// A socket that listens at an address: a path of the file system, or, where it starts with '@', an
// abstract name, which is no file and goes with the socket.
class Listener {
 public:
  // A path's mode is 0600; a socket file that nobody listens at and that is ours is replaced.
  // Throws Error(kInvalidArgument) where somebody listens there or the file is no such socket,
  // Error(kIo), Error(kDeadline).
  Listener(std::string address, const Deadline& deadline);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() { close(); }

  int descriptor() const { return socket_.get(); }
  // A new connection of this user, non-blocking; none where nobody waits. Connections of other
  // users are closed and counted. Throws Error(kOutOfMemory) where no descriptor is free.
  UniqueFd accept();
  int num_strangers() const { return num_strangers_; }
  // Removes the file, if it is still the one that was made here, and stops to listen.
  void close();

 private:
  void bind_path(const Deadline& deadline);

  std::string address_;
  UniqueFd socket_;
  struct stat file_ = {};
  bool has_file_ = false;
  int num_strangers_ = 0;
};

// Waits for somebody to listen there. Throws Error(kDeadline), Error(kInvalidArgument) where the
// listener is another user's, Error(kIo).
UniqueFd connect_to(const std::string& address, const Deadline& deadline);

enum class Sent { kYes, kLater, kLost };
// One message; `descriptor` goes along, -1: none. Never blocks.
Sent send_message(int socket, const void* data, std::size_t bytes, int descriptor = -1);

struct Received {
  enum class State { kMessage, kNothing, kClosed } state = State::kNothing;
  std::size_t bytes = 0;             // of the message, which may be longer than the space for it
  UniqueFd descriptor;               // that came along
  bool descriptor_was_lost = false;  // for want of a free one in this process
};
// Never blocks.
Received receive_message(int socket, void* data, std::size_t bytes);

// Waits until one of the descriptors can be read (or `writable` written), some time has passed or
// the deadline has; returns early on a signal.
struct Waited {
  std::vector<int> readable;
  int writable = -1;
};
void wait_for_any(const Waited& waited, const Deadline& deadline, int max_ms);

}  // namespace cmm::transport::shm
