// The processes of one job: started as ranks, told of signals, ended together.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace cmm::cli {

inline constexpr int kTimedOut = 124;  // as timeout(1) has it; 126 and 127 as shells do
inline constexpr int kCannotExecute = 126;
inline constexpr int kNotFound = 127;

struct JobOptions {
  int num_ranks = 1;
  std::vector<std::string> program;  // and its arguments
  bool tag_output = false;           // each line of output is preceded by its rank
  std::optional<std::chrono::seconds> timeout;
};

// Starts the ranks, serves the meshes they make and returns when no process of the job is left.
//
// Returns 0 where all ranks did; else the exit code of the rank that failed first (128 + its signal
// where one ended it; ranks that were killed go before those that exited, which do so when they
// lose a peer), kTimedOut, or kNotFound or kCannotExecute where the program could not be started;
// what happened stands on standard error. Throws Error where ranks cannot be started.
//
// One failure ends the job: the others may end by themselves for 500 ms, to say what they know,
// then get SIGTERM, and 2 s later SIGKILL. SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are passed
// on, but not what a terminal sends: it has sent it to every rank itself. Ranks that have not ended
// 2 s after a SIGTERM that was passed on get SIGKILL. When this process is killed the kernel kills
// the ranks.
int run_job(const JobOptions& options);

}  // namespace cmm::cli
