// The memory that the ranks of a mesh on one host share, as the protocol of group.hpp sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace cmm::transport::memory {

// One rank's view. Ranks of one space are numbered 0 .. members - 1; a group is made of some of
// them. All functions may be called by any thread of the rank.
class Space {
 public:
  virtual ~Space() = default;

  // Memory of this rank that all others can read: 64-byte aligned and reserved. Throws
  // Error(kOutOfMemory) with needed and present bytes.
  virtual std::byte* allocate(std::int64_t bytes) = 0;
  virtual void deallocate(std::byte* data, std::int64_t bytes) noexcept = 0;

  // How this rank tells its peers of memory of its own; -1 where they cannot read it.
  virtual std::int64_t address(const std::byte* data, std::int64_t bytes) const = 0;
  // Memory that `member` told of; nullptr where it is not all within what that member shares.
  virtual const std::byte* at(int member, std::int64_t address, std::int64_t bytes) const = 0;

  // Whether peers read memory of the caller's that was not allocated here: address() is then never
  // -1, and the caller may free it only once no peer reads any more.
  virtual bool reads_any_memory() const = 0;

  // Whether the member's process has ended. Costs a system call.
  virtual bool ended(int member) const = 0;
  // "process 4711, which has not ended", for messages.
  virtual std::string description_of(int member) const = 0;
  // False in a process that was forked from the one that made this object.
  virtual bool owned_by_this_process() const = 0;
};

}  // namespace cmm::transport::memory
