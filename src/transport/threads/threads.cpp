#include "transport/threads/threads.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <numeric>

#include "base/aligned_buffer.hpp"
#include "base/process_id.hpp"
#include "transport/memory/endpoint.hpp"
#include "transport/memory/group.hpp"

namespace cmm::transport::threads {
namespace {

// One object for all ranks of an axis; an address is a pointer.
class ThreadSpace final : public memory::Space {
 public:
  std::byte* allocate(std::int64_t bytes) override {
    AlignedBuffer buffer(bytes);
    std::byte* data = buffer.data();
    const std::lock_guard lock(mutex_);
    buffers_.emplace(data, std::move(buffer));
    return data;
  }
  void deallocate(std::byte* data, std::int64_t) noexcept override {
    const std::lock_guard lock(mutex_);
    buffers_.erase(data);
  }

  std::int64_t address(const std::byte* data, std::int64_t) const override {
    return reinterpret_cast<std::intptr_t>(data);
  }
  const std::byte* at(int, std::int64_t address, std::int64_t) const override {
    return reinterpret_cast<const std::byte*>(static_cast<std::intptr_t>(address));
  }
  bool reads_any_memory() const override { return true; }

  // Threads end with their process.
  bool ended(int) const override { return false; }
  std::string description_of(int) const override { return "a thread of this process"; }
  bool owned_by_this_process() const override { return process_id() == made_by_; }

 private:
  const pid_t made_by_ = process_id();
  std::mutex mutex_;
  std::map<std::byte*, AlignedBuffer> buffers_;
};

}  // namespace

std::vector<std::shared_ptr<Endpoint>> make_endpoints(int num_ranks) {
  const Block control = allocate(memory::control_bytes(num_ranks));
  std::memset(control.data.get(), 0, static_cast<std::size_t>(control.bytes));
  const auto space = std::make_shared<ThreadSpace>();
  std::vector<int> ranks(static_cast<std::size_t>(num_ranks));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<std::shared_ptr<Endpoint>> endpoints;
  for (int rank = 0; rank < num_ranks; ++rank) {
    endpoints.push_back(memory::make_endpoint(
        std::make_shared<memory::Group>(memory::Group::Config{.control = control.data,
                                                              .space = space,
                                                              .index = rank,
                                                              .members = ranks,
                                                              .ranks = ranks}),
        "threads"));
  }
  return endpoints;
}

Block allocate(std::int64_t bytes) {
  const auto buffer = std::make_shared<AlignedBuffer>(bytes);
  return {std::shared_ptr<std::byte>(buffer, buffer->data()), bytes};
}

}  // namespace cmm::transport::threads
