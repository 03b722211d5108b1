// The threads that multiply for one rank: the caller and num_threads - 1 helpers that live as long
// as the team and sleep between calls.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace cmm::exec {

class Team {
 public:
  // Throws Error(kOutOfMemory) where the system refuses a thread.
  explicit Team(int num_threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int num_threads() const { return static_cast<int>(helpers_.size()) + 1; }

  // Runs task(context, thread) on every thread, the caller being thread 0, and returns when all
  // have ended. The task must not throw. Neither allocates nor, while the helpers are awake, calls
  // the system.
  using Task = void (*)(void* context, int thread);
  void run(Task task, void* context);

 private:
  void serve(int thread);
  void stop();

  const pid_t made_by_;  // the process
  std::vector<std::thread> helpers_;
  Task task_ = nullptr;
  void* context_ = nullptr;
  std::atomic<std::uint64_t> num_started_{0};  // runs; helpers wait for the next
  std::atomic<std::uint64_t> num_ended_{0};    // helper runs, over all runs
  std::atomic<bool> stopping_{false};
};

// Threads of one team meet here, again and again; the count only grows.
class Barrier {
 public:
  explicit Barrier(int num_threads) : num_threads_(static_cast<std::uint64_t>(num_threads)) {}

  // `round` counts this thread's meetings and starts at 0. Returns false as soon as `failed` is
  // set: the others may then never come.
  bool meet(std::uint64_t& round, const std::atomic<bool>& failed);

 private:
  const std::uint64_t num_threads_;
  std::atomic<std::uint64_t> num_arrived_{0};
  std::atomic<std::uint32_t> bell_{0};  // sleepers wait on it
  std::atomic<int> num_asleep_{0};
};

}  // namespace cmm::exec
