// The processes whose parent is this one.
#pragma once

#include <sys/types.h>

#include <vector>

namespace cmm::cli {

// Those that have ended and were not waited for are among them. Reads all of /proc: for the end of
// a job, not for its course.
std::vector<pid_t> children_of_this_process();

}  // namespace cmm::cli
