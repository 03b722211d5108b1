#include "transport/shm/socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>

#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm::transport::shm {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

bool no_descriptors(int error) { return error == EMFILE || error == ENFILE; }

UniqueFd open_socket() {
  UniqueFd opened(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (opened) return opened;
  const int error = errno;
  throw Error(no_descriptors(error) ? ErrorCode::kOutOfMemory : ErrorCode::kIo,
              cat("no socket for the ranks to meet: ", reason(error),
                  no_descriptors(error) ? "; raise `ulimit -n`" : ""));
}

struct Address {
  sockaddr_un address = {};
  socklen_t bytes = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

Address address_of(const std::string& name) {
  Address result;
  const std::size_t most = sizeof result.address.sun_path - 1;
  if (name.empty() || name == "@" || name.size() > most || name.find('\0') != std::string::npos) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("the socket '", name, "' has a name of ", name.size(),
                    " bytes; it must be a path, or '@' and a name, of 1 to ", most, " bytes"));
  }
  result.address.sun_family = AF_UNIX;
  std::memcpy(result.address.sun_path, name.data(), name.size());
  const bool abstract = name[0] == '@';
  if (abstract) result.address.sun_path[0] = '\0';
  result.bytes =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (abstract ? 0 : 1));
  return result;
}

// -1 where the kernel does not say.
std::int64_t user_of_peer(int socket) {
  ucred credentials = {};
  socklen_t bytes = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) return -1;
  return credentials.uid;
}

void nap(const Deadline& deadline) { wait_for_any({}, deadline, 5); }

// Held while a path is looked at and changed, so that two ranks that find the same dead file, or
// one that has bound and does not listen yet, are not mistaken for each other. A lock of the folder
// leaves nothing behind.
class FolderLock {
 public:
  FolderLock(const std::string& path, const Deadline& deadline) {
    const std::size_t slash = path.find_last_of('/');
    const std::string folder = slash == std::string::npos ? "."
                               : slash == 0               ? "/"
                                                          : path.substr(0, slash);
    folder_ = UniqueFd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder_) {
      const int error = errno;
      throw Error(no_descriptors(error) ? ErrorCode::kOutOfMemory : ErrorCode::kIo,
                  cat("the folder of the socket '", path, "' cannot be opened: ", reason(error)));
    }
    while (flock(folder_.get(), LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      if (error != EWOULDBLOCK && error != EINTR) {
        throw Error(ErrorCode::kIo,
                    cat("the folder of the socket '", path, "' cannot be locked: ", reason(error)));
      }
      if (deadline.expired()) {
        throw Error(ErrorCode::kDeadline,
                    cat("the folder of the socket '", path, "' was locked by another process for ",
                        deadline.limit_ms(), " ms"));
      }
      nap(deadline);
    }
  }

 private:
  UniqueFd folder_;
};

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

std::pair<UniqueFd, UniqueFd> socket_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    throw Error(ErrorCode::kOutOfMemory,
                cat("no sockets for the ranks to meet: ", reason(errno), "; raise `ulimit -n`"));
  }
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Listener::Listener(std::string address, const Deadline& deadline)
    : address_(std::move(address)), socket_(open_socket()) {
  const Address bound = address_of(address_);
  if (address_[0] != '@') {
    bind_path(deadline);
    return;
  }
  if (bind(socket_.get(), bound.get(), bound.bytes) != 0 || listen(socket_.get(), SOMAXCONN) != 0) {
    const int error = errno;
    if (error == EADDRINUSE) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("somebody listens at the socket '", address_,
                      "' already: another job, or a second rank 0; give another name"));
    }
    throw Error(ErrorCode::kIo, cat("the socket '", address_, "' cannot be made: ", reason(error)));
  }
}

void Listener::bind_path(const Deadline& deadline) {
  const Address bound = address_of(address_);
  const FolderLock lock(address_, deadline);
  // The mode that the file gets; the process's umask can only narrow it.
  if (fchmod(socket_.get(), 0600) != 0) {
    throw Error(ErrorCode::kIo,
                cat("the socket '", address_, "' cannot be made private: ", reason(errno)));
  }
  int error = bind(socket_.get(), bound.get(), bound.bytes) == 0 ? 0 : errno;
  if (error == EADDRINUSE) {
    struct stat found = {};
    if (lstat(address_.c_str(), &found) != 0) found = {};
    if (!S_ISSOCK(found.st_mode) || found.st_uid != geteuid()) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("'", address_, "' is there and is ",
                      S_ISSOCK(found.st_mode) ? "a socket of another user" : "no socket",
                      "; it is left as it is: give another path"));
    }
    const UniqueFd probe = open_socket();
    if (connect(probe.get(), bound.get(), bound.bytes) == 0 || errno != ECONNREFUSED) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("somebody listens at the socket '", address_,
                      "' already: another job, or a second rank 0; give another path"));
    }
    // Of a job that was killed before its ranks met.
    if (unlink(address_.c_str()) != 0 && errno != ENOENT) {
      throw Error(ErrorCode::kIo,
                  cat("the dead socket '", address_, "' cannot be removed: ", reason(errno)));
    }
    error = bind(socket_.get(), bound.get(), bound.bytes) == 0 ? 0 : errno;
  }
  if (error != 0) {
    throw Error(ErrorCode::kIo, cat("the socket '", address_, "' cannot be made: ", reason(error)));
  }
  has_file_ = lstat(address_.c_str(), &file_) == 0;
  if (listen(socket_.get(), SOMAXCONN) != 0) {
    const int refused = errno;
    close();
    throw Error(ErrorCode::kIo,
                cat("the socket '", address_, "' cannot be listened at: ", reason(refused)));
  }
}

void Listener::close() {
  struct stat found = {};
  if (has_file_ && lstat(address_.c_str(), &found) == 0 && same_file(found, file_)) {
    unlink(address_.c_str());
  }
  has_file_ = false;
  socket_.reset();
}

UniqueFd Listener::accept() {
  while (socket_) {
    UniqueFd accepted(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (accepted && user_of_peer(accepted.get()) == static_cast<std::int64_t>(geteuid())) {
      return accepted;
    }
    const int error = errno;
    if (accepted) {
      ++num_strangers_;
    } else if (no_descriptors(error)) {
      throw Error(ErrorCode::kOutOfMemory,
                  cat("no descriptor for a rank that came to the socket '", address_,
                      "': ", reason(error), "; raise `ulimit -n`"));
    } else if (error != EINTR && error != ECONNABORTED) {
      break;
    }
  }
  return UniqueFd();
}

UniqueFd connect_to(const std::string& address, const Deadline& deadline) {
  const Address target = address_of(address);
  for (;;) {
    UniqueFd socket = open_socket();
    if (connect(socket.get(), target.get(), target.bytes) == 0) {
      if (user_of_peer(socket.get()) == static_cast<std::int64_t>(geteuid())) return socket;
      throw Error(
          ErrorCode::kInvalidArgument,
          cat("the socket '", address, "' is listened at by user ", user_of_peer(socket.get()),
              ", not by ours, ", geteuid(), "; all ranks must run as one user"));
    }
    const int error = errno;
    // Nobody yet, or the file of a dead job that rank 0 will replace, or a queue that is full.
    if (error != ENOENT && error != ECONNREFUSED && error != EAGAIN && error != EINTR) {
      throw Error(ErrorCode::kIo,
                  cat("the socket '", address, "' cannot be connected to: ", reason(error)));
    }
    if (deadline.expired()) {
      throw Error(
          ErrorCode::kDeadline,
          cat("nobody listened at the socket '", address, "' for ", deadline.limit_ms(), " ms (",
              reason(error), "): rank 0 has not come, or was given another socket"),
          0);
    }
    nap(deadline);
  }
}

Sent send_message(int socket, const void* data, std::size_t bytes, int descriptor) {
  iovec part = {.iov_base = const_cast<void*>(data), .iov_len = bytes};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (descriptor >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(int));
  }
  for (;;) {
    if (sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return Sent::kYes;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == ENOBUFS ? Sent::kLater : Sent::kLost;
  }
}

Received receive_message(int socket, void* data, std::size_t bytes) {
  iovec part = {.iov_base = data, .iov_len = bytes};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  // Room for one descriptor; of what does not fit, the kernel closes our copies.
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t length = 0;
  // ECONNRESET: the other end went with something of ours unread. It is reported once, ahead of
  // what the other end had sent before, which comes next.
  do {
    length = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
  } while (length < 0 && (errno == EINTR || errno == ECONNRESET));
  Received received;
  if (length <= 0) {
    received.state = length < 0 && (errno == EAGAIN || errno == ENOMEM) ? Received::State::kNothing
                                                                        : Received::State::kClosed;
    return received;
  }
  received.state = Received::State::kMessage;
  received.bytes = static_cast<std::size_t>(length);
  received.descriptor_was_lost = (header.msg_flags & MSG_CTRUNC) != 0;
  for (cmsghdr* part_of = CMSG_FIRSTHDR(&header); part_of != nullptr;
       part_of = CMSG_NXTHDR(&header, part_of)) {
    if (part_of->cmsg_level != SOL_SOCKET || part_of->cmsg_type != SCM_RIGHTS) continue;
    int descriptor = -1;
    if (part_of->cmsg_len >= CMSG_LEN(sizeof(int))) {
      std::memcpy(&descriptor, CMSG_DATA(part_of), sizeof(int));
    }
    received.descriptor = UniqueFd(descriptor);
  }
  return received;
}

void wait_for_any(const Waited& waited, const Deadline& deadline, int max_ms) {
  std::vector<pollfd> polled;
  for (const int descriptor : waited.readable) polled.push_back({descriptor, POLLIN, 0});
  if (waited.writable >= 0) polled.push_back({waited.writable, POLLOUT, 0});
  const auto limit = static_cast<int>(std::clamp<std::int64_t>(deadline.left_ms(), 0, max_ms));
  poll(polled.data(), static_cast<nfds_t>(polled.size()), limit);
}

}  // namespace cmm::transport::shm
