// Has the process of a peer ended? A pid alone does not tell: it is given to another process soon
// after. A pidfd does; where the kernel refuses one, the pid together with the time the process
// was started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/shm/unique_fd.hpp"

namespace cmm::transport::shm {

// As processes of one pid namespace see it.
struct Process {
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;  // since boot; 0: unknown, since /proc cannot be read
};

Process process_of(std::int64_t pid);
Process this_process();
std::uint64_t pid_namespace();  // of this process; 0: unknown

enum class Watch { kPidfd, kStartTime };

class ProcessWatch {
 public:
  // Throws Error(kOutOfMemory) where this process may have no more descriptors. `kind` kStartTime
  // takes none.
  ProcessWatch(std::vector<Process> processes, Watch kind);

  // Some system calls; any thread.
  bool ended(int index) const;
  std::string description(int index) const;  // "process 4711, which is stopped"
  Watch kind() const { return kind_; }

 private:
  std::vector<Process> processes_;
  Watch kind_;
  std::vector<UniqueFd> pidfds_;  // none for a process that had ended before
};

}  // namespace cmm::transport::shm
