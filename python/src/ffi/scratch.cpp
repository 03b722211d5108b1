#include "scratch.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

namespace cmm::python::ffi {
namespace {

constexpr std::align_val_t kAlignment{64};

// Calls in flight at once are the independent ones of a program, which rarely are more.
constexpr std::size_t kMaxKept = 4;

struct Block {
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
};

void release(const Block& block) { ::operator delete(block.data, kAlignment); }

class Store {
 public:
  Block take(std::int64_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      auto best = kept_.end();  // the smallest that will do
      for (auto it = kept_.begin(); it != kept_.end(); ++it) {
        if (it->bytes >= bytes && (best == kept_.end() || it->bytes < best->bytes)) best = it;
      }
      if (best != kept_.end()) {
        const Block block = *best;
        kept_.erase(best);
        return block;
      }
    }
    return {static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), kAlignment)),
            bytes};
  }

  void give_back(Block block) {
    {
      const std::lock_guard lock(mutex_);
      if (kept_.size() < kMaxKept) {
        kept_.push_back(block);
        return;
      }
      const auto smallest =
          std::min_element(kept_.begin(), kept_.end(),
                           [](const Block& a, const Block& b) { return a.bytes < b.bytes; });
      if (smallest->bytes < block.bytes) std::swap(*smallest, block);
    }
    release(block);
  }

  Store() { kept_.reserve(kMaxKept); }

 private:
  std::mutex mutex_;
  std::vector<Block> kept_;
};

Store& store() {
  static Store& store = *new Store;  // never destroyed: calls may run while the process ends
  return store;
}

}  // namespace

std::shared_ptr<std::byte> take_scratch(std::int64_t bytes) {
  const Block block = store().take(std::max<std::int64_t>(bytes, 1));
  return {block.data, [block](std::byte*) { store().give_back(block); }};
}

}  // namespace cmm::python::ffi
