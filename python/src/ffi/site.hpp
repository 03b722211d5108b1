// A call site: one all-gather matmul of one executable. The runtime makes a site when it loads the
// executable and destroys it with it; all devices and all runs share it.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "cmm/dtype.hpp"
#include "cmm/epilogue.hpp"
#include "runtime.hpp"

namespace cmm::python::ffi {

// The call's attributes.
struct SiteOptions {
  int num_ranks = 1;   // on the axis
  int num_groups = 1;  // of ranks: positions on the other axes of the mesh
  bool transposed = false;
  bool swiglu = false;
  std::vector<Activation> activations = {};  // one per right side; empty: none
  std::chrono::milliseconds deadline{0};     // for all ranks to come
};

// The same on every device. m is num_ranks * m_local.
struct CallShape {
  DType dtype = DType::kF32;  // of x and every y
  DType out_dtype = DType::kF32;
  std::int64_t m_local = 0;
  std::int64_t k = 0;
  std::vector<std::int64_t> n_local = {};  // of each right side

  std::int64_t shard_bytes() const {
    return m_local * k * static_cast<std::int64_t>(dtype_bytes(dtype));
  }
};

// One device's operands and results, where the runtime has them.
struct Operands {
  const void* x = nullptr;          // [m_local, k]
  std::vector<const void*> y = {};  // [k, n] each, or [n, k] where transposed
  std::vector<void*> out = {};      // [m, n] each; SwiGLU: one
  void* gathered = nullptr;         // [m, k]; nullptr: not wanted
};

// Where a device stands: operand `where`, int32[2].
struct Place {
  int rank = 0;
  int group = 0;
};

class Site {
 public:
  static xla::StateType type();
  static int num_alive();

  explicit Site(const xla::CallFrame& instantiation);
  ~Site();
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  std::int64_t id() const { return id_; }  // of no other site, past or present
  const SiteOptions& options() const { return options_; }
  const CallShape& shape() const { return shape_; }  // once operands() has been called

  // Throw Error(kInvalidArgument) where the call does not fit the attributes.
  Operands operands(const xla::CallFrame& frame);
  Place place(const xla::CallFrame& frame) const;

  // For Meetings, under its lock: calls of one rank in its present run, and the last run in which a
  // device failed here.
  struct Counter {
    std::int64_t run = 0;
    std::int64_t num_calls = 0;
  };
  struct FailedRun {
    std::int64_t run = 0;
    xla::Failure failure = {};
  };
  Counter& counter(const Place& place);
  std::optional<FailedRun>& failed_run() { return failed_run_; }

 private:
  void read_shape(const xla::CallFrame& frame);

  const std::int64_t id_;
  SiteOptions options_;
  std::once_flag shape_once_;
  CallShape shape_;
  std::int64_t num_outs_ = 0;
  bool gathered_ = false;
  std::vector<Counter> counters_;  // by group and rank
  std::optional<FailedRun> failed_run_;
};

}  // namespace cmm::python::ffi
