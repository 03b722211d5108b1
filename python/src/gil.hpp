// The GIL during a call of the library.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace cmm::python {

// Python ends a thread that asks for the GIL while the interpreter ends, in frames of C++ that let
// nothing through: the process would abort. So such a thread sleeps until the process has ended, as
// from Python 3.14 on, and those that ask already when the end begins are let through first.
class EndOfInterpreter {
 public:
  // To be called at exit, before the interpreter ends, with the GIL.
  static void begin() {
    ender() = PyThreadState_Get();
    PyThreadState* thread = PyEval_SaveThread();
    const auto patience = std::chrono::steady_clock::now() + kPatience;
    while (num_asking() > 0 && std::chrono::steady_clock::now() < patience) pause();
    PyEval_RestoreThread(thread);
  }
  static void take_gil(PyThreadState* thread) {
    // Other functions may run at exit after begin(), and want results of threads.
    auto patience = std::chrono::steady_clock::time_point::max();
    for (;;) {
      ++num_asking();
      const PyThreadState* by = ender();
      if (!has_come() && (by == nullptr || by == thread)) break;
      const auto now = std::chrono::steady_clock::now();
      if (patience == std::chrono::steady_clock::time_point::max()) patience = now + kPatience;
      if (!has_come() && now > patience) break;
      --num_asking();
      pause();
    }
    PyEval_RestoreThread(thread);
    --num_asking();
  }

 private:
  static constexpr std::chrono::seconds kPatience{1};
  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
  static bool has_come() {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
  }
  static std::atomic<PyThreadState*>& ender() {
    static std::atomic<PyThreadState*> thread{nullptr};
    return thread;
  }
  static std::atomic<int>& num_asking() {
    static std::atomic<int> threads{0};
    return threads;
  }
};

// Releases the GIL while it lives.
class Released {
 public:
  Released() : thread_(PyEval_SaveThread()) {}
  ~Released() { EndOfInterpreter::take_gil(thread_); }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* thread_;
};

// For every binding that may take long: nanobind's own guard knows nothing of the interpreter's
// end.
using WithoutGil = nanobind::call_guard<Released>;

// Releases the GIL while it lives, as Released does, and takes it back faster
// where ranks are threads: they return from a call at the same time, and each needs the GIL for
// some microseconds before its next call. Who finds it taken sleeps, and is woken 50 us later. So a
// rank first waits awake for its turn, for a while: ranks pass the GIL on from call to call.
class ReleasedInTurn {
 public:
  ReleasedInTurn() : thread_(PyEval_SaveThread()) {
    PyThreadState* mine = thread_;
    turn().compare_exchange_strong(mine, nullptr, std::memory_order_release,
                                   std::memory_order_relaxed);
  }
  ~ReleasedInTurn() {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    PyThreadState* nobody = nullptr;
    while (!turn().compare_exchange_weak(nobody, thread_, std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
      nobody = nullptr;
      const Clock::duration waited = Clock::now() - begin;
      if (waited > kPatience) break;
      if (waited > kBeforeYielding) std::this_thread::yield();
    }
    EndOfInterpreter::take_gil(thread_);
    // Of a rank that has gone on to something else, or has ended, the turn is taken.
    turn().store(thread_, std::memory_order_relaxed);
  }
  ReleasedInTurn(const ReleasedInTurn&) = delete;
  ReleasedInTurn& operator=(const ReleasedInTurn&) = delete;

 private:
  // Longer than Python code between two calls of a loop; short beside a sleep.
  static constexpr std::chrono::microseconds kPatience{100};
  // Who yields to another program at once may be back milliseconds later.
  static constexpr std::chrono::microseconds kBeforeYielding{20};
  // The rank that has come back from a call and has not begun its next, or none.
  static std::atomic<PyThreadState*>& turn() {
    static std::atomic<PyThreadState*> rank{nullptr};
    return rank;
  }

  PyThreadState* thread_;
};

}  // namespace cmm::python
