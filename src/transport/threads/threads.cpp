#include "transport/threads/threads.hpp"

#include <numeric>

#include "transport/memory/endpoint.hpp"
#include "transport/memory/group.hpp"
#include "transport/memory/heap_space.hpp"

namespace cmm::transport::threads {
namespace {

// One object for all ranks of an axis.
class ThreadSpace final : public memory::HeapSpace {
 public:
  std::int64_t address(const std::byte* data, std::int64_t) const override {
    return reinterpret_cast<std::intptr_t>(data);
  }
  const std::byte* at(int, std::int64_t address, std::int64_t) const override {
    return reinterpret_cast<const std::byte*>(static_cast<std::intptr_t>(address));
  }
  bool reads_any_memory() const override { return true; }
  std::string description_of(int) const override { return "a thread of this process"; }
};

}  // namespace

std::vector<std::shared_ptr<Endpoint>> make_endpoints(int num_ranks) {
  const auto control = memory::zeroed_memory(memory::control_bytes(num_ranks));
  const auto space = std::make_shared<ThreadSpace>();
  std::vector<int> ranks(static_cast<std::size_t>(num_ranks));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<std::shared_ptr<Endpoint>> endpoints;
  for (int rank = 0; rank < num_ranks; ++rank) {
    endpoints.push_back(memory::make_endpoint(
        std::make_shared<memory::Group>(memory::Group::Config{
            .control = control, .space = space, .index = rank, .members = ranks, .ranks = ranks}),
        "threads"));
  }
  return endpoints;
}

}  // namespace cmm::transport::threads
