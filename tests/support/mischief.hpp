// Makes ranks late, or makes one fail, at the named points of a call.
#pragma once

#include <atomic>
#include <chrono>
#include <random>
#include <stdexcept>
#include <thread>

#include "api/plan_state.hpp"
#include "exec/hook.hpp"

namespace cmm::test {

struct Sabotage : std::runtime_error {
  Sabotage() : std::runtime_error("sabotage") {}
};

// One rank's mischief. Points are counted over all calls and threads of the rank.
class Mischief {
 public:
  struct Config {
    unsigned seed = 1;
    double delay_share = 0;              // of the points reached
    std::chrono::microseconds delay{0};  // at most
    int throw_at = -1;                   // number of the point that throws; -1: none does
  };
  explicit Mischief(const Config& config) : config_(config) {}

  void attach(const Plan& plan) { plan.state().set_hook({&Mischief::reach, this}); }
  bool thrown() const { return thrown_.load(); }
  int num_points() const { return num_points_.load(); }

 private:
  static void reach(void* self, exec::Point, int) { static_cast<Mischief*>(self)->reach(); }
  void reach() {
    const int number = num_points_.fetch_add(1);
    if (config_.delay_share > 0) {
      std::mt19937 random(config_.seed + 7919u * static_cast<unsigned>(number));
      if (std::uniform_real_distribution<>(0, 1)(random) < config_.delay_share) {
        const auto most = static_cast<int>(config_.delay.count());
        std::this_thread::sleep_for(
            std::chrono::microseconds(std::uniform_int_distribution<>(0, most)(random)));
      }
    }
    if (number == config_.throw_at) {
      thrown_.store(true);
      throw Sabotage();
    }
  }

  const Config config_;
  std::atomic<int> num_points_{0};
  std::atomic<bool> thrown_{false};
};

}  // namespace cmm::test
