// Ranks and the axes they lie on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmm {

namespace transport {
class Endpoint;
}

inline constexpr std::chrono::milliseconds kDefaultDeadline{60'000};
inline constexpr int kMaxRanks = 4096;  // of a mesh

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

  std::string_view transport_name() const;  // "threads", "shared memory", "MPI"
  int num_hosts() const;                    // that its ranks lie on
  // The host of each rank, numbered from 0 in the order of their first ranks.
  const std::vector<int>& hosts() const;

  // What this rank did last on the axis: a line for each of its last 64 operations (plans, calls,
  // exchanges), the oldest first, with the chunks that have arrived and the rank that is waited
  // for. For people. Not collective; any thread may call it at any time.
  std::string history() const;

  // Collective: every rank gives a text and gets those of all, by rank. For what a program has to
  // agree on before it makes plans; a call needs none of it. Errors: kBusy while this rank is in
  // another call on the axis, kDeadline, kPeerFailed, kMeshDead, kInvalidArgument:
  // on all ranks where one's deadline is wrong (the mesh stays usable) or one does something else
  // (it does not).
  std::vector<std::string> exchange(const std::string& text,
                                    std::chrono::milliseconds deadline = kDefaultDeadline) const;
  // Collective: returns once every rank of the axis has called it. Same errors.
  void barrier(std::chrono::milliseconds deadline = kDefaultDeadline) const;

  // For the library itself: the transport behind the axis.
  transport::Endpoint& endpoint() const { return *endpoint_; }

 private:
  friend class Mesh;
  Axis(std::string name, std::shared_ptr<transport::Endpoint> endpoint)
      : name_(std::move(name)), endpoint_(std::move(endpoint)) {}

  std::string name_;
  std::shared_ptr<transport::Endpoint> endpoint_;
};

// Memory of one rank that its peers on the same host can read, 64-byte aligned. Rows of x that lie
// in it are read where they lie; ranks that are processes copy x once where they lie elsewhere. May
// outlive the mesh.
class Memory {
 public:
  Memory() = default;
  std::byte* data() const { return data_.get(); }
  std::int64_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_.get());
  }

 private:
  friend class Mesh;
  std::shared_ptr<std::byte> data_;
  std::int64_t bytes_ = 0;
};

// How a process becomes a rank of a mesh of processes of one host, without a launcher.
struct ProcessOptions {
  // Where the ranks meet: a path in a folder that only this user writes, or '@' and an abstract
  // name. Rank 0 makes the socket, and it is gone before Mesh::processes returns.
  std::string socket;
  int rank = 0;
  int num_ranks = 1;
  // Known to all ranks and nobody else, at most 64 bytes; keeps two jobs that were given the same
  // socket apart. Other users are kept out in any case.
  std::string token;
  std::chrono::milliseconds deadline = kDefaultDeadline;  // for all ranks to have come
};

// What the environment says of this process: set by `cmm launch`, or CMM_RANK and CMM_NUM_RANKS.
struct RankEnvironment {
  int rank = 0;
  int num_ranks = 1;
};
// None where this process was not started as a rank. Throws Error(kInvalidArgument) where the
// variables contradict each other or are no numbers.
std::optional<RankEnvironment> rank_environment();

// One rank's place in a grid of named axes. Ranks count row-major: the last axis is fastest.
class Mesh {
 public:
  // Ranks that are threads of this process: element r belongs to rank r and is used by one thread
  // at a time. Throws Error(kInvalidArgument) on an empty list, a size below 1, a repeated or
  // empty name, or more than kMaxRanks ranks.
  static std::vector<Mesh> threads(const std::vector<AxisSize>& axes);

  // This process as one rank of a mesh whose ranks are processes of this host. Collective over the
  // `num_ranks` processes: either all of them get a mesh or all get the same error, which names
  // the rank at fault. Any number of meshes may be made, one after the other. The processes must
  // run as one user and see each other's pids.
  //
  // Errors: kInvalidArgument (ranks, axes or tokens that do not fit together, a socket that is in
  // use), kDeadline, kPeerFailed, kOutOfMemory, kUnsupported, kIo. Nothing is left behind, whatever
  // happens, but for the file of the socket where rank 0 is killed while it waits; the next job
  // replaces it.
  static Mesh processes(const ProcessOptions& options, const std::vector<AxisSize>& axes);

  // The same, where the environment says which rank this is and where the others are: `cmm launch`
  // sets it, or, by hand, CMM_SOCKET, CMM_RANK, CMM_NUM_RANKS and, if wanted, CMM_TOKEN. Without
  // them, a mesh of this process alone where the axes have one rank in all, else
  // Error(kInvalidArgument). Error(kBusy) while another thread of the process makes one.
  static Mesh from_environment(const std::vector<AxisSize>& axes,
                               std::chrono::milliseconds deadline = kDefaultDeadline);

  // For the library itself: a mesh over endpoints made elsewhere, one per axis.
  Mesh(int rank, std::vector<AxisSize> axes,
       std::vector<std::shared_ptr<transport::Endpoint>> endpoints);

  int rank() const { return rank_; }
  int num_ranks() const { return num_ranks_; }
  const std::vector<AxisSize>& axes() const { return axes_; }
  // Throws Error(kInvalidArgument) listing the axes there are.
  Axis axis(std::string_view name) const;

  // Memory that peers read in place; see Memory. Not collective. Throws Error(kOutOfMemory) with
  // needed and present bytes.
  Memory allocate(std::int64_t bytes) const;

  // Takes this rank out of every axis with a reason: peers that wait for it, or come to wait for
  // it later, get Error(kPeerFailed) with that reason. Not collective.
  void abort(const std::string& reason);

  // This rank makes no more calls: peers that wait for it, or come to wait for it later, get
  // Error(kPeerFailed) with the reason, which must live as long as the program. Calls of this rank
  // then throw Error(kInvalidArgument). Not collective.
  void leave(const char* reason) noexcept;

  // Writes Axis::history() of every axis to a descriptor. May be called from a signal handler, and
  // so from any thread at any time, while the mesh exists. The library itself handles no signal.
  void write_history(int fd) const noexcept;

 private:
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
