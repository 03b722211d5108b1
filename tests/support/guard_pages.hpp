// Memory that ends at a page which may not be touched, so that one byte too far is a crash and not
// a silent read.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace cmm::test {

// Which of the two guard pages the buffer touches; pages are larger than most buffers.
enum class Flush { kStart, kEnd };

// `bytes` bytes, zeroed, between two guard pages. Flush with the end, the start is aligned only
// where `bytes` is a multiple of the alignment wanted.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t bytes, Flush flush = Flush::kEnd) : bytes_(bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t usable = (bytes + page - 1) / page * page;
    mapped_bytes_ = usable + 2 * page;
    void* mapped = mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    mapped_ = static_cast<std::byte*>(mapped);
    if (usable != 0 && mprotect(mapped_ + page, usable, PROT_READ | PROT_WRITE) != 0) {
      munmap(mapped_, mapped_bytes_);
      throw std::bad_alloc();
    }
    data_ = mapped_ + page + (flush == Flush::kEnd ? usable - bytes : 0);
  }
  GuardedBuffer(GuardedBuffer&& other) noexcept
      : mapped_(std::exchange(other.mapped_, nullptr)),
        mapped_bytes_(other.mapped_bytes_),
        data_(other.data_),
        bytes_(other.bytes_) {}
  GuardedBuffer& operator=(GuardedBuffer&&) = delete;
  ~GuardedBuffer() {
    if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
  }

  std::size_t bytes() const { return bytes_; }
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }

 private:
  std::byte* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace cmm::test
