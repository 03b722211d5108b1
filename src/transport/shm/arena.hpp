// The memory that the ranks of a mesh on one host share, when they are processes: one file without
// a name (memfd) that every rank maps.
//
//   | control | region of rank 0 | region of rank 1 | ... |
//
// Everybody writes the control area; a region is written by its rank alone and mapped read-only by
// the others, so that a stray write of one rank cannot change another's rows. Regions are large and
// sparse: addresses cost nothing, and a page is taken when its rank reserves it (allocate) and
// given back when it frees it. The file has no name anywhere and dies with the last process that
// maps it.
//
// The kernel does not refuse memory that it lacks, it kills for it, and whom it kills is any
// process. So each rank weighs what it takes against what is present, together with what the other
// ranks are about to take: that stands at the end of the control area.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/present_memory.hpp"
#include "base/process_id.hpp"
#include "transport/memory/space.hpp"
#include "transport/shm/page_ranges.hpp"
#include "transport/shm/process.hpp"
#include "transport/shm/unique_fd.hpp"

namespace cmm::transport::shm {

// A range of addresses of this process, taken before the ranks meet, so that they can agree on
// regions that fit into all of them.
class AddressRange {
 public:
  struct Limits {
    int num_ranks = 1;
    std::int64_t control_bytes = 0;
  };
  // As large regions as this process may map. Throws Error(kOutOfMemory) with the limit that is in
  // the way where not even small ones fit.
  explicit AddressRange(const Limits& limits);
  AddressRange(AddressRange&& other) noexcept;
  AddressRange& operator=(AddressRange&&) = delete;
  ~AddressRange();

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t region_bytes() const { return region_bytes_; }
  void shrink(std::int64_t bytes);    // gives back what lies beyond
  void forget() { data_ = nullptr; }  // in a process where these addresses are not ours

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  std::int64_t region_bytes_ = 0;
};

class Arena final : public memory::Space {
 public:
  struct Config {
    UniqueFd memory;  // a memfd, or another file that can be mapped and punched
    int rank = 0;
    std::vector<Process> processes;  // of all ranks
    std::int64_t control_bytes = 0;  // alike on every rank, as is region_bytes
    std::int64_t region_bytes = 0;   // at most that of the address range
    Watch watch = Watch::kPidfd;
    std::int64_t (*present_memory)() = present_memory_bytes;  // a test has its own
  };
  // Maps the file and reserves the control area. Throws Error(kOutOfMemory).
  Arena(Config config, AddressRange range);
  ~Arena() override;

  std::byte* control() const { return range_.data(); }

  std::byte* allocate(std::int64_t bytes) override;
  void deallocate(std::byte* data, std::int64_t bytes) noexcept override;
  std::int64_t address(const std::byte* data, std::int64_t bytes) const override;
  const std::byte* at(int member, std::int64_t address, std::int64_t bytes) const override;
  bool reads_any_memory() const override { return false; }
  bool ended(int member) const override { return watch_.ended(member); }
  std::string description_of(int member) const override { return watch_.description(member); }
  bool owned_by_this_process() const override { return process_id() == owner_; }

 private:
  std::byte* region(int rank) const;
  // What is asked for at once, and how much of it is taken already.
  struct Request {
    std::int64_t bytes = 0;
    std::int64_t taken = 0;
  };
  // A word for each rank: bytes that it is about to take. Only that rank writes it, so that what a
  // killed rank had announced can be told from the rest.
  std::atomic<std::int64_t>& announced(int rank) const { return words_[rank + 1]; }
  std::atomic<std::int64_t>& small_bytes() const { return words_[0]; }  // of all small requests
  std::int64_t announced_by_others() const;
  // Throws Error(kOutOfMemory) where what is left of the request and what the other ranks take at
  // the same time are more than is present.
  void weigh(const Request& request, std::int64_t others) const;
  void reserve(std::int64_t offset, std::int64_t bytes);
  void take(std::int64_t offset, std::int64_t bytes, const Request& request);
  void punch(std::int64_t offset, std::int64_t bytes) noexcept;
  std::int64_t offset_of(const std::byte* data) const { return data - range_.data(); }

  Config config_;
  AddressRange range_;
  ProcessWatch watch_;
  std::atomic<std::int64_t>* words_ = nullptr;  // in the control area, valid when zeroed
  const pid_t owner_ = process_id();

  std::mutex mutex_;
  PageRanges pages_;  // of this rank's region
};

}  // namespace cmm::transport::shm
