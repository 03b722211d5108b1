// Threads on which devices go on after a call.
//
// Completing a device's future runs the rest of its program on the completing thread, which may
// then wait for other devices (a psum). So each device goes on on a thread of its own; the threads
// are kept, and there are as many as devices have gone on at once.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace cmm::python::ffi {

class Finishers {
 public:
  static Finishers& instance();

  // Runs the task, which must not throw, on a thread that runs nothing else. Does not wait for it;
  // but where the system gives no thread, runs it here.
  void post(std::function<void()> task);

  int num_threads();

 private:
  struct Worker;
  void start(const std::function<void()>& task);
  void serve(Worker& self);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_;  // the last to fall idle is the first to work: it is still awake
};

}  // namespace cmm::python::ffi
