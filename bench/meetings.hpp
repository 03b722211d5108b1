// How ranks meet that are threads of one process, or that have an axis of the library's.
#pragma once

#include <barrier>
#include <cstring>
#include <string>
#include <vector>

#include "cmm/mesh.hpp"
#include "turns.hpp"

namespace cmm::bench {

class ThreadMeeting final : public Meeting {
 public:
  struct Shared {
    explicit Shared(int num_ranks)
        : barrier(num_ranks), numbers(static_cast<std::size_t>(num_ranks)) {}
    std::barrier<> barrier;
    std::vector<std::vector<double>> numbers;  // by rank
  };
  ThreadMeeting(Shared& shared, int rank) : shared_(shared), rank_(rank) {}
  void meet() override { shared_.barrier.arrive_and_wait(); }
  std::vector<std::vector<double>> gather(const std::vector<double>& mine) override {
    shared_.numbers[static_cast<std::size_t>(rank_)] = mine;
    meet();
    const std::vector<std::vector<double>> all = shared_.numbers;
    meet();
    return all;
  }

 private:
  Shared& shared_;
  int rank_;
};

class AxisMeeting final : public Meeting {
 public:
  explicit AxisMeeting(Axis axis) : axis_(std::move(axis)) {}
  void meet() override { axis_.barrier(); }
  std::vector<std::vector<double>> gather(const std::vector<double>& mine) override {
    const std::string text(reinterpret_cast<const char*>(mine.data()),
                           mine.size() * sizeof(double));
    std::vector<std::vector<double>> all;
    for (const std::string& of_rank : axis_.exchange(text)) {
      all.emplace_back(of_rank.size() / sizeof(double));
      std::memcpy(all.back().data(), of_rank.data(), of_rank.size());
    }
    return all;
  }

 private:
  const Axis axis_;
};

}  // namespace cmm::bench
