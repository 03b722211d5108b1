#include "finishers.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>

namespace cmm::python::ffi {

struct Finishers::Worker {
  std::function<void()> task;
  std::atomic<std::uint32_t> num_posted{0};
};

Finishers& Finishers::instance() {
  static Finishers& finishers = *new Finishers;  // never destroyed: its threads use it
  return finishers;
}

void Finishers::post(std::function<void()> task) {
  Worker* worker = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      worker = idle_.back();
      idle_.pop_back();
    }
  }
  if (worker != nullptr) {
    worker->task = std::move(task);
    worker->num_posted.fetch_add(1, std::memory_order_release);
    worker->num_posted.notify_one();
    return;
  }
  try {
    start(task);
  } catch (const std::exception&) {
    task();
  }
}

void Finishers::start(const std::function<void()>& task) {
  auto fresh = std::make_unique<Worker>();
  fresh->task = task;
  fresh->num_posted.store(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  workers_.reserve(workers_.size() + 1);
  idle_.reserve(workers_.size() + 1);  // so that a worker never fails to fall idle
  std::thread([this, self = fresh.get()] { serve(*self); }).detach();
  workers_.push_back(std::move(fresh));
}

void Finishers::serve(Worker& self) {
  for (std::uint32_t num_done = 0;; ++num_done) {
    self.num_posted.wait(num_done, std::memory_order_acquire);
    self.task();
    self.task = nullptr;
    const std::lock_guard lock(mutex_);
    idle_.push_back(&self);
  }
}

int Finishers::num_threads() {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(workers_.size());
}

}  // namespace cmm::python::ffi
