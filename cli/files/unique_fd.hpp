// Owns a file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace cmm::files {

class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}  // -1: none
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

}  // namespace cmm::files
