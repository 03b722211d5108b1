// Ranks and the axes they lie on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cmm {

namespace transport {
class Endpoint;
}

struct AxisSize {
  std::string name;
  int size = 1;
};

// One rank's handle on one axis: the ranks that differ from it in that coordinate only. Copies
// share the handle. A collective call on an axis is made by all of its ranks; axes with different
// ranks are independent of each other.
class Axis {
 public:
  int rank() const;
  int num_ranks() const;
  const std::string& name() const { return name_; }

  // What this rank did last on the axis: a line for each of its last 64 operations (plans, calls,
  // exchanges), the oldest first, with the chunks that have arrived and the rank that is waited
  // for. For people. Not collective; any thread may call it at any time.
  std::string history() const;

  // For the library itself: the transport behind the axis.
  transport::Endpoint& endpoint() const { return *endpoint_; }

 private:
  friend class Mesh;
  Axis(std::string name, std::shared_ptr<transport::Endpoint> endpoint)
      : name_(std::move(name)), endpoint_(std::move(endpoint)) {}

  std::string name_;
  std::shared_ptr<transport::Endpoint> endpoint_;
};

// One rank's place in a grid of named axes. Ranks count row-major: the last axis is fastest.
class Mesh {
 public:
  // Ranks that are threads of this process: element r belongs to rank r and is used by one thread
  // at a time. Throws Error(kInvalidArgument) on an empty list, a size below 1, a repeated or
  // empty name, or more than 4096 ranks.
  static std::vector<Mesh> threads(const std::vector<AxisSize>& axes);

  int rank() const { return rank_; }
  int num_ranks() const { return num_ranks_; }
  const std::vector<AxisSize>& axes() const { return axes_; }
  // Throws Error(kInvalidArgument) listing the axes there are.
  Axis axis(std::string_view name) const;

  // Takes this rank out of every axis with a reason: peers that wait for it, or come to wait for
  // it later, get Error(kPeerFailed) with that reason. Not collective.
  void abort(const std::string& reason);

  // This rank makes no more calls: peers that wait for it, or come to wait for it later, get
  // Error(kPeerFailed) with the reason, which must live as long as the program. Not collective.
  void leave(const char* reason) noexcept;

  // Writes Axis::history() of every axis to a descriptor. May be called from a signal handler, and
  // so from any thread at any time, while the mesh exists. The library itself handles no signal.
  void write_history(int fd) const noexcept;

 private:
  Mesh() = default;
  int rank_ = 0;
  int num_ranks_ = 1;
  std::vector<AxisSize> axes_;
  std::vector<std::shared_ptr<transport::Endpoint>> endpoints_;  // one per axis
};

// Runs body(mesh) on one new thread per rank and returns when all have ended. A rank that throws
// takes its peers out of their calls; the exception rethrown here is that of the rank that failed
// first.
void run_ranks(const std::vector<AxisSize>& axes, const std::function<void(Mesh&)>& body);

}  // namespace cmm
