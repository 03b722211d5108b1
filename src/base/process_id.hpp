// Which process is this? Asked at the start of every call: a forked child holds the same objects as
// its parent, but is no rank.
#pragma once

#include <sys/types.h>

namespace cmm {

// getpid(), without a system call but for the first time in a process.
pid_t process_id() noexcept;

}  // namespace cmm
