// A stand-in for the XLA runtime: loads call sites and calls the handlers as it does.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ffi/api.hpp"

namespace cmm::python::xla {

struct SiteAttributes {
  std::int64_t num_ranks = 1;
  std::int64_t return_gathered = 0;
  std::int64_t deadline_ms = 60'000;
};

// One call site of one executable; throws std::runtime_error where it cannot be loaded.
class LoadedSite {
 public:
  // minor: the version that the runtime speaks.
  LoadedSite(const SiteAttributes& attributes, int minor);
  ~LoadedSite();
  LoadedSite(const LoadedSite&) = delete;
  LoadedSite& operator=(const LoadedSite&) = delete;

 private:
  friend class DeviceCall;
  int minor_;
  void* state_ = nullptr;
  void (*destroy_)(void*) = nullptr;
};

// One device's side of a call, of f32 matrices.
class DeviceCall {
 public:
  struct Matrix {
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::vector<float> values = {};
  };
  DeviceCall(const LoadedSite& site, std::int64_t run, int rank, Matrix x, Matrix y,
             std::vector<Matrix> results);
  ~DeviceCall();
  DeviceCall(DeviceCall&&) noexcept;
  DeviceCall& operator=(DeviceCall&&) noexcept;

  void start();  // calls the handler

  // The error, empty where there is none; "hangs" where the call has not ended in the time.
  std::string wait(std::chrono::milliseconds time);

  const Matrix& result(std::size_t i) const;

 private:
  struct Frame;
  std::unique_ptr<Frame> frame_;
};

}  // namespace cmm::python::xla
