#include "peer_watch.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>

namespace cmm::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A process that sleeps until it is killed.
class Sleeper {
 public:
  Sleeper() {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      seen_ = this_process();
      if (::write(ends[1], &seen_, sizeof seen_) != sizeof seen_) ::_exit(1);
      for (;;) ::pause();
    }
    const bool told = ::read(ends[0], &seen_, sizeof seen_) == sizeof seen_;
    ::close(ends[0]);
    ::close(ends[1]);
    if (!told) throw std::runtime_error("no process");
  }
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  void stop() const {
    ::kill(pid_, SIGSTOP);
    ::waitpid(pid_, nullptr, WUNTRACED);
  }
  const SeenProcess& seen() const { return seen_; }

 private:
  pid_t pid_ = -1;
  SeenProcess seen_;
};

TEST(PeerWatch, TellsAStoppedProcessFromOthers) {
  const Sleeper sleeper;
  EXPECT_EQ(sleeper.seen().pid_namespace, this_process().pid_namespace);
  EXPECT_FALSE(is_stopped(sleeper.seen()));
  EXPECT_FALSE(is_stopped(this_process()));
  sleeper.stop();
  EXPECT_TRUE(is_stopped(sleeper.seen()));
  SeenProcess earlier = sleeper.seen();  // which had the same pid
  --earlier.start_ticks;
  EXPECT_FALSE(is_stopped(earlier));
  EXPECT_FALSE(is_stopped({.pid_namespace = 0, .pid = 1 << 30, .start_ticks = 0}));
}

TEST(PeerWatch, FindsAPeerThatStaysStopped) {
  const Sleeper sleeper;
  std::promise<void> found;
  std::future<void> is_found = found.get_future();
  const PeerWatch watch(sleeper.seen(), milliseconds(100), [&] { found.set_value(); });
  EXPECT_EQ(is_found.wait_for(milliseconds(400)), std::future_status::timeout);  // it runs
  sleeper.stop();
  EXPECT_EQ(is_found.wait_for(seconds(30)), std::future_status::ready);
}

TEST(PeerWatch, EndsWithoutWaitingForItsNextLook) {
  const auto begin = std::chrono::steady_clock::now();
  {
    const PeerWatch watch(this_process(), std::chrono::hours(24), [] {});
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(10));
}

}  // namespace
}  // namespace cmm::cli
