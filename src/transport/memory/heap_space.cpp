#include "transport/memory/heap_space.hpp"

#include <cstring>
#include <iterator>

namespace cmm::transport::memory {

std::byte* HeapSpace::allocate(std::int64_t bytes) {
  AlignedBuffer buffer(bytes);
  std::byte* data = buffer.data();
  const std::lock_guard lock(mutex_);
  buffers_.emplace(data, std::move(buffer));
  return data;
}

void HeapSpace::deallocate(std::byte* data, std::int64_t) noexcept {
  const std::lock_guard lock(mutex_);
  buffers_.erase(data);
}

bool HeapSpace::holds(const std::byte* data, std::int64_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto after = buffers_.upper_bound(data);
  if (after == buffers_.begin()) return false;
  const AlignedBuffer& buffer = std::prev(after)->second;
  const std::int64_t offset = data - buffer.data();
  return offset <= buffer.bytes() && bytes <= buffer.bytes() - offset;
}

std::shared_ptr<std::byte> zeroed_memory(std::int64_t bytes) {
  const auto buffer = std::make_shared<AlignedBuffer>(bytes);
  std::memset(buffer->data(), 0, static_cast<std::size_t>(bytes));
  return std::shared_ptr<std::byte>(buffer, buffer->data());
}

}  // namespace cmm::transport::memory
