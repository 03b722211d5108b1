// Memory of one process's own heap as a space; an address is a pointer. Who else may read it is for
// the class derived to say.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "base/aligned_buffer.hpp"
#include "base/process_id.hpp"
#include "transport/memory/space.hpp"

namespace cmm::transport::memory {

class HeapSpace : public Space {
 public:
  std::byte* allocate(std::int64_t bytes) override;
  void deallocate(std::byte* data, std::int64_t bytes) noexcept override;

  // Its ranks end with this process.
  bool ended(int) const override { return false; }
  bool owned_by_this_process() const override { return process_id() == made_by_; }

 protected:
  // Whether all of it was allocated here.
  bool holds(const std::byte* data, std::int64_t bytes) const;
  pid_t made_by() const { return made_by_; }

 private:
  const pid_t made_by_ = process_id();
  mutable std::mutex mutex_;
  std::map<const std::byte*, AlignedBuffer> buffers_;
};

// For the control memory of a group. Throws Error(kOutOfMemory).
std::shared_ptr<std::byte> zeroed_memory(std::int64_t bytes);

}  // namespace cmm::transport::memory
