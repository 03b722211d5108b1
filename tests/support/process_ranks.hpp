// Runs the body of a rank in forked processes, and tells how each of them ended.
//
// Fork before any thread of the test is started (ThreadSanitizer insists, and rightly).
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/text.hpp"

namespace cmm::test {

struct RankEnd {
  int exit_code = -1;    // 0: the body returned and no expectation in it failed; -1: see signal
  int signal = 0;        // that ended it; SIGKILL too where it ran past the limit
  bool late = false;     // ran past the limit
  std::string failures;  // of expectations in the body, and the exception that left it
};
inline bool ended_well(const RankEnd& end) { return end.exit_code == 0; }

// Forked processes with a number each. Those that still run when the object goes are killed.
class ProcessRanks {
 public:
  using Body = std::function<void(int rank)>;

  ProcessRanks() = default;
  ProcessRanks(const ProcessRanks&) = delete;
  ProcessRanks& operator=(const ProcessRanks&) = delete;
  ~ProcessRanks() {
    for (Child& child : children_) {
      if (child.pid > 0) {
        ::kill(child.pid, SIGKILL);
        reap(child);
      }
      if (child.pipe >= 0) ::close(child.pipe);
    }
  }

  // Starts one more rank, whose number is that of the ranks started before.
  pid_t start(const Body& body) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe for a rank");
    const int rank = static_cast<int>(children_.size());
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error("no process for a rank");
    if (pid == 0) {
      ::close(ends[0]);
      for (const Child& other : children_) ::close(other.pipe);
      run(body, rank, ends[1]);
    }
    ::close(ends[1]);
    children_.push_back({.pid = pid, .pipe = ends[0], .end = {}});
    return pid;
  }

  pid_t pid(int rank) const { return children_[static_cast<std::size_t>(rank)].pid; }
  void kill(int rank, int signal) { ::kill(pid(rank), signal); }
  // Blocks until the rank has stopped, or has ended. wait() still tells how it ended.
  void await_stop(int rank) const { await(rank, WSTOPPED | WEXITED | WNOWAIT); }
  void await_end(int rank) const { await(rank, WEXITED | WNOWAIT); }
  bool has_ended(int rank) const {
    siginfo_t info = {};
    waitid(P_PID, static_cast<id_t>(pid(rank)), &info, WEXITED | WNOWAIT | WNOHANG);
    return info.si_pid != 0;
  }

  // Waits for all; those that run past the limit are killed. By rank.
  std::vector<RankEnd> wait(std::chrono::milliseconds limit) {
    const Deadline deadline(limit);
    for (;;) {
      std::vector<pollfd> pipes;
      for (const Child& child : children_) {
        if (child.pipe >= 0) pipes.push_back({child.pipe, POLLIN, 0});
      }
      if (pipes.empty()) break;
      poll(pipes.data(), pipes.size(), 100);
      for (const pollfd& ready : pipes) {
        if (ready.revents != 0) read_from(ready.fd);
      }
      if (!deadline.expired()) continue;
      for (Child& child : children_) {
        if (child.pipe < 0) continue;
        child.end.late = true;
        ::kill(child.pid, SIGKILL);
        ::close(child.pipe);
        child.pipe = -1;
      }
    }
    std::vector<RankEnd> ends;
    for (Child& child : children_) {
      reap(child);
      ends.push_back(child.end);
    }
    return ends;
  }

 private:
  struct Child {
    pid_t pid = -1;
    int pipe = -1;
    RankEnd end;
  };

  void await(int rank, int events) const {
    siginfo_t info = {};
    while (waitid(P_PID, static_cast<id_t>(pid(rank)), &info, events) != 0 && errno == EINTR) {
    }
  }

  // Collects what expectations say, instead of printing it from many processes at once.
  class Collector : public testing::EmptyTestEventListener {
   public:
    explicit Collector(std::string* into) : into_(into) {}
    void OnTestPartResult(const testing::TestPartResult& result) override {
      if (!result.failed()) return;
      *into_ += cat(result.file_name() == nullptr ? "" : result.file_name(), ":",
                    result.line_number(), ": ", result.message(), "\n");
    }

   private:
    std::string* into_;
  };

  [[noreturn]] static void run(const Body& body, int rank, int pipe) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    delete listeners.Release(listeners.default_xml_generator());
    std::string failures;
    listeners.Append(new Collector(&failures));
    bool failed = false;
    try {
      body(rank);
    } catch (const std::exception& error) {
      failures += cat("exception: ", error.what(), "\n");
      failed = true;
    } catch (...) {
      failures += "exception of unknown type\n";
      failed = true;
    }
    failed = failed || testing::Test::HasFailure();
    for (std::size_t done = 0; done < failures.size();) {
      const ssize_t written = write(pipe, failures.data() + done, failures.size() - done);
      if (written <= 0) break;
      done += static_cast<std::size_t>(written);
    }
    // No static destructors and no buffers of the parent's: those are the parent's affair.
    _exit(failed ? 1 : 0);
  }

  void read_from(int pipe) {
    for (Child& child : children_) {
      if (child.pipe != pipe) continue;
      char bytes[4096];
      const ssize_t length = read(pipe, bytes, sizeof bytes);
      if (length > 0) child.end.failures.append(bytes, static_cast<std::size_t>(length));
      if (length == 0 || (length < 0 && errno != EINTR)) {
        ::close(pipe);
        child.pipe = -1;
      }
    }
  }

  static void reap(Child& child) {
    int status = 0;
    if (child.pid <= 0) return;
    while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    child.pid = -1;
    if (WIFEXITED(status)) child.end.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) child.end.signal = WTERMSIG(status);
  }

  std::vector<Child> children_;
};

// body(rank) in `num_ranks` processes, all of which must end well within the limit.
inline void run_processes(int num_ranks, const ProcessRanks::Body& body,
                          std::chrono::milliseconds limit = std::chrono::seconds(60)) {
  ProcessRanks ranks;
  for (int rank = 0; rank < num_ranks; ++rank) ranks.start(body);
  const std::vector<RankEnd> ends = ranks.wait(limit);
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    EXPECT_TRUE(ended_well(ends[rank]))
        << "rank " << rank << (ends[rank].late ? " ran past the limit" : "") << " exit code "
        << ends[rank].exit_code << " signal " << ends[rank].signal << "\n"
        << ends[rank].failures;
  }
}

}  // namespace cmm::test
