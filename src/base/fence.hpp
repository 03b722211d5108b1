// A full barrier: no later load passes an earlier store.
#pragma once

#include <atomic>

namespace cmm {

inline void full_fence() {
  // ThreadSanitizer does not model fences. Ours order a store before a load of another word and
  // publish no data, so it misses nothing by that.
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan"
#endif
  std::atomic_thread_fence(std::memory_order_seq_cst);
#pragma GCC diagnostic pop
}

}  // namespace cmm
