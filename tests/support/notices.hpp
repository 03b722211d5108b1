// What forked processes and their test wait for from each other, in place of time.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <stdexcept>

namespace cmm::test {

// Made before the processes are; whoever has it may give and await.
class Notices {
 public:
  Notices() {
    if (pipe2(ends_, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  }
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;
  ~Notices() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  void give() const { EXPECT_EQ(write(ends_[1], "x", 1), 1); }
  void await(int count = 1) const {
    constexpr int kLimitMs = 60'000;
    pollfd polled = {ends_[0], POLLIN, 0};
    char byte = 0;
    for (; count > 0 && poll(&polled, 1, kLimitMs) == 1; --count) {
      EXPECT_EQ(read(ends_[0], &byte, 1), 1);
    }
    EXPECT_EQ(count, 0) << "that have not come";
  }

 private:
  int ends_[2];
};

}  // namespace cmm::test
