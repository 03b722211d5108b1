// Ranks that are threads of the test's own process.
#pragma once

#include <map>
#include <mutex>
#include <thread>

#include "world.hpp"

namespace cmm::contract {

class ThreadWorld final : public World {
 public:
  using World::mesh;
  using World::run;
  bool processes() const override { return false; }

  void run(int num_ranks, const Body& body, const Extras& extras) override {
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < num_ranks; ++rank) ranks.emplace_back([&body, rank] { body(rank); });
    extras.meanwhile();
    for (std::thread& rank : ranks) rank.join();
    meshes_.clear();
  }

  Mesh mesh(int number, int rank, const std::vector<AxisSize>& axes) override {
    const std::lock_guard lock(mutex_);
    std::vector<Mesh>& meshes = meshes_[number];
    if (meshes.empty()) meshes = Mesh::threads(axes);
    return std::move(meshes[static_cast<std::size_t>(rank)]);
  }

  void signal(int, int) override {}

 private:
  std::mutex mutex_;
  std::map<int, std::vector<Mesh>> meshes_;
};

}  // namespace cmm::contract
