#include "finishers.hpp"

#include <condition_variable>
#include <exception>
#include <thread>
#include <utility>

namespace cmm::python::ffi {

// Asleep until there is a task: std::atomic::wait would yield for a while first, and on a busy host
// a thread that has yielded gets its core back later than one that is woken.
struct Finishers::Worker {
  std::mutex mutex;
  std::condition_variable posted;
  std::function<void()> task;
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
    {
      const std::lock_guard lock(worker->mutex);
      worker->task = std::move(task);
    }
    worker->posted.notify_one();
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
  const std::lock_guard lock(mutex_);
  workers_.reserve(workers_.size() + 1);
  idle_.reserve(workers_.size() + 1);  // so that a worker never fails to fall idle
  std::thread([this, self = fresh.get()] { serve(*self); }).detach();
  workers_.push_back(std::move(fresh));
}

void Finishers::serve(Worker& self) {
  for (;;) {
    std::unique_lock ready(self.mutex);
    self.posted.wait(ready, [&] { return self.task != nullptr; });
    const std::function<void()> task = std::exchange(self.task, nullptr);
    ready.unlock();
    task();
    const std::lock_guard lock(mutex_);
    idle_.push_back(&self);
  }
}

int Finishers::num_threads() {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(workers_.size());
}

}  // namespace cmm::python::ffi
