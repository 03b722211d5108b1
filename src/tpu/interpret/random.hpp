// The random choices of a run: the same on every machine for the same seed.
#pragma once

#include <cstdint>

namespace cmm::tpu {

// splitmix64: passes for random, and any seed is as good as another.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  // 0 .. end - 1, end >= 1; what the remainder favours is beyond notice for such small ends.
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(end));
  }
  bool coin() { return (bits() & 1) != 0; }

 private:
  std::uint64_t state_;
};

}  // namespace cmm::tpu
