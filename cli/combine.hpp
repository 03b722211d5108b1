// Results of this process's ranks to those of all ranks. Collective over the processes, and the
// same on all of them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "reference_product.hpp"
#include "world.hpp"

namespace cmm::cli {

// Values as bytes of a text: processes that were started together are of one build.
template <class T>
std::string bytes_of(const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}
template <class T>
std::vector<T> values_of(const std::string& bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// The values of all processes, in the order of their ranks.
template <class T>
std::vector<T> joined_values(World& world, const std::vector<T>& mine) {
  if (world.is_one_process()) return mine;
  std::vector<T> all;
  const std::vector<std::string> texts = gather_long(world, bytes_of(mine));
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    if (texts[rank].size() % sizeof(T) != 0) throw not_understood(rank, "a list of values");
    const std::vector<T> values = values_of<T>(texts[rank]);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

std::uint64_t sum_over_processes(World& world, std::uint64_t mine);  // modulo 2^64
double max_over_processes(World& world, double mine);
Comparison over_processes(World& world, const Comparison& mine);

}  // namespace cmm::cli
