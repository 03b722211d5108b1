// Memory for panels, packed rows and accumulators: 64-byte aligned, in 2 MiB pages where the
// buffer is large (3-9 % of a product's time on the machines measured).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cmm {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Not initialised. Throws Error(kOutOfMemory) with the size; a negative size is such an error
  // too, so that a product that overflowed cannot become a small allocation.
  explicit AlignedBuffer(std::int64_t bytes);

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::int64_t bytes() const { return bytes_; }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data_.get());
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_.get());
  }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::int64_t bytes_ = 0;
};

}  // namespace cmm
