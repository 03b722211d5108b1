// Notices a peer on this machine that has been stopped (SIGSTOP, a debugger), also while no call is
// going on whose deadline would find it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace cmm::cli {

// A process as others on its machine see it.
struct SeenProcess {
  std::uint64_t pid_namespace = 0;  // pids count within it
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;  // since the machine started: a pid is given again, but later
};
SeenProcess this_process();

// Whether it is stopped now. A process that has ended is not, nor one that cannot be seen.
bool is_stopped(const SeenProcess& process);

class PeerWatch {
 public:
  // Calls `found`, once and on a thread of its own, when the peer has been stopped at every look
  // for `patience`. Looks are counted, not hours: while this process is stopped too, as by Ctrl-Z,
  // it does not look.
  PeerWatch(const SeenProcess& peer, std::chrono::milliseconds patience,
            std::function<void()> found);
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

 private:
  void watch();

  SeenProcess peer_;
  std::chrono::milliseconds patience_;
  std::function<void()> found_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace cmm::cli
