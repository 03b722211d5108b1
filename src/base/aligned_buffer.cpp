#include "base/aligned_buffer.hpp"

#include <sys/mman.h>

#include <cstdlib>

#include "base/integers.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm {
namespace {
constexpr std::int64_t kCacheLineBytes = 64;
constexpr std::int64_t kHugePageBytes = std::int64_t{2} << 20;
}  // namespace

AlignedBuffer::AlignedBuffer(std::int64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const std::int64_t alignment = bytes >= kHugePageBytes ? kHugePageBytes : kCacheLineBytes;
  void* p = nullptr;
  if (bytes > 0 && bytes <= INT64_MAX - alignment) {
    p = std::aligned_alloc(static_cast<std::size_t>(alignment),
                           static_cast<std::size_t>(round_up(bytes, alignment)));
  }
  if (p == nullptr) {
    throw Error(ErrorCode::kOutOfMemory,
                bytes < 0 ? std::string("a buffer's size does not fit in 63 bits")
                          : cat("no memory for a buffer of ", bytes, " bytes"));
  }
  if (alignment == kHugePageBytes) {
    // A hint; where the kernel declines, the buffer is only slower.
    madvise(p, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  }
  data_.reset(static_cast<std::byte*>(p));
}

void AlignedBuffer::Free::operator()(std::byte* p) const { std::free(p); }

}  // namespace cmm
