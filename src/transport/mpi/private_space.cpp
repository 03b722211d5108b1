#include "transport/mpi/private_space.hpp"

#include "base/text.hpp"
#include "transport/memory/heap_space.hpp"

namespace cmm::transport::mpi {
namespace {

class PrivateSpace final : public memory::HeapSpace {
 public:
  std::int64_t address(const std::byte* data, std::int64_t bytes) const override {
    return holds(data, bytes) ? reinterpret_cast<std::intptr_t>(data) : -1;
  }
  const std::byte* at(int, std::int64_t address, std::int64_t bytes) const override {
    auto* const data = reinterpret_cast<const std::byte*>(static_cast<std::intptr_t>(address));
    return holds(data, bytes) ? data : nullptr;
  }
  bool reads_any_memory() const override { return false; }
  std::string description_of(int) const override { return cat("process ", made_by()); }
};

}  // namespace

std::shared_ptr<memory::Space> make_private_space() { return std::make_shared<PrivateSpace>(); }

}  // namespace cmm::transport::mpi
