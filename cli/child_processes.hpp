// The processes whose parent is this one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace cmm::cli {

struct ChildProcess {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  // since boot, of some 10 ms
};

// Those that have ended and were not waited for are among them; none where /proc cannot be read.
// Reads all of /proc: for the begin and the end of a job, not for its course.
std::vector<ChildProcess> children_of_this_process();

}  // namespace cmm::cli
