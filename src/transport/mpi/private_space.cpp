#include "transport/mpi/private_space.hpp"

#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>

#include "base/aligned_buffer.hpp"
#include "base/text.hpp"

namespace cmm::transport::mpi {
namespace {

class PrivateSpace final : public memory::Space {
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

  // An address is a pointer, of memory that was allocated here.
  std::int64_t address(const std::byte* data, std::int64_t bytes) const override {
    const auto address = reinterpret_cast<std::intptr_t>(data);
    return at(0, address, bytes) == nullptr ? -1 : address;
  }
  const std::byte* at(int, std::int64_t address, std::int64_t bytes) const override {
    auto* const data = reinterpret_cast<std::byte*>(static_cast<std::intptr_t>(address));
    const std::lock_guard lock(mutex_);
    auto after = buffers_.upper_bound(data);
    if (after == buffers_.begin()) return nullptr;
    const AlignedBuffer& buffer = std::prev(after)->second;
    const std::int64_t offset = data - buffer.data();
    return offset <= buffer.bytes() && bytes <= buffer.bytes() - offset ? data : nullptr;
  }
  bool reads_any_memory() const override { return false; }

  bool ended(int) const override { return false; }
  std::string description_of(int) const override { return cat("process ", process_); }
  bool owned_by_this_process() const override { return process_ == getpid(); }

 private:
  const pid_t process_ = getpid();
  mutable std::mutex mutex_;
  std::map<std::byte*, AlignedBuffer> buffers_;
};

}  // namespace

std::shared_ptr<memory::Space> make_private_space() { return std::make_shared<PrivateSpace>(); }

std::shared_ptr<std::byte> zeroed_memory(std::int64_t bytes) {
  const auto buffer = std::make_shared<AlignedBuffer>(bytes);
  std::memset(buffer->data(), 0, static_cast<std::size_t>(bytes));
  return std::shared_ptr<std::byte>(buffer, buffer->data());
}

}  // namespace cmm::transport::mpi
