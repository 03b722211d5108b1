#include "cmm/mesh.hpp"

#include <charconv>
#include <cstring>
#include <exception>
#include <mutex>
#include <set>
#include <thread>

#include "base/integers.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "transport/threads/threads.hpp"
#include "transport/transport.hpp"

namespace cmm {
namespace {

constexpr std::int64_t kMaxRanks = 4096;

int check_axes(const std::vector<AxisSize>& axes) {
  if (axes.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "a mesh needs at least one axis, e.g. {{\"tp\", 4}}");
  }
  std::int64_t num_ranks = 1;
  std::set<std::string> names;
  for (const AxisSize& axis : axes) {
    if (axis.name.empty() || !names.insert(axis.name).second) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("axis name '", axis.name, "' is empty or repeated; each axis needs its own"));
    }
    if (axis.size < 1) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("axis '", axis.name, "' has size ", axis.size, "; it must be at least 1"));
    }
    num_ranks *= axis.size;
    if (num_ranks > kMaxRanks) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("the mesh has more than ", kMaxRanks, " ranks at axis '", axis.name, "'"));
    }
  }
  return static_cast<int>(num_ranks);
}

}  // namespace

int Axis::rank() const { return endpoint_->rank(); }
int Axis::num_ranks() const { return endpoint_->num_ranks(); }

std::vector<Mesh> Mesh::threads(const std::vector<AxisSize>& axes) {
  const int num_ranks = check_axes(axes);
  std::vector<Mesh> meshes(static_cast<std::size_t>(num_ranks), Mesh());
  for (int rank = 0; rank < num_ranks; ++rank) {
    Mesh& mesh = meshes[static_cast<std::size_t>(rank)];
    mesh.rank_ = rank;
    mesh.num_ranks_ = num_ranks;
    mesh.axes_ = axes;
  }
  // Ranks of one group along an axis lie `stride` apart.
  int stride = num_ranks;
  for (const AxisSize& axis : axes) {
    stride /= axis.size;
    for (int first = 0; first < num_ranks; ++first) {
      if (first / stride % axis.size != 0) continue;
      const auto endpoints = transport::threads::make_endpoints(axis.size);
      for (int i = 0; i < axis.size; ++i) {
        meshes[static_cast<std::size_t>(first + i * stride)].endpoints_.push_back(
            endpoints[static_cast<std::size_t>(i)]);
      }
    }
  }
  return meshes;
}

Axis Mesh::axis(std::string_view name) const {
  std::string known;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].name == name) return Axis(axes_[i].name, endpoints_[i]);
    known += cat(known.empty() ? "" : ", ", "'", axes_[i].name, "'");
  }
  throw Error(ErrorCode::kInvalidArgument, cat("no axis '", name, "'; this mesh has ", known));
}

void Mesh::leave(const char* reason) noexcept {
  for (const auto& endpoint : endpoints_) endpoint->leave(reason);
}

namespace {

// Built without allocating; a long name is cut.
class Owner {
 public:
  Owner(int rank, std::string_view axis) {
    add("rank ");
    char digits[12];
    const auto end = std::to_chars(digits, digits + sizeof digits, rank).ptr;
    add({digits, static_cast<std::size_t>(end - digits)});
    add(" of axis '");
    add(axis.substr(0, 64));
    add("'");
  }
  std::string_view text() const { return {text_, size_}; }

 private:
  void add(std::string_view part) {
    std::memcpy(text_ + size_, part.data(), part.size());
    size_ += part.size();
  }
  char text_[128];
  std::size_t size_ = 0;
};

}  // namespace

std::string Axis::history() const { return endpoint_->history().text(Owner(rank(), name_).text()); }

void Mesh::write_history(int fd) const noexcept {
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    const transport::Endpoint& endpoint = *endpoints_[i];
    endpoint.history().write(fd, Owner(endpoint.rank(), axes_[i].name).text());
  }
}

void Mesh::abort(const std::string& reason) {
  for (const auto& endpoint : endpoints_) {
    endpoint->fail(Error(ErrorCode::kPeerFailed,
                         cat("rank ", endpoint->rank(), " left the call: ", reason),
                         endpoint->rank()));
  }
}

namespace {

// Takes a failed rank out of its axes with the reason in words where memory allows.
void abort_with(Mesh& mesh, const std::exception_ptr& failure) noexcept {
  try {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      mesh.abort(error.what());
    } catch (...) {
      mesh.abort("an exception of unknown type");
    }
  } catch (...) {
    // No memory for the words: leaving, which follows, still tells the peers that it has gone.
  }
}

}  // namespace

void run_ranks(const std::vector<AxisSize>& axes, const std::function<void(Mesh&)>& body) {
  std::vector<Mesh> meshes = Mesh::threads(axes);
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&](Mesh& mesh) noexcept {
    try {
      body(mesh);
      mesh.leave("its body returned");
    } catch (...) {
      {
        // Recorded before the peers learn of it, so that the first failure stays the first.
        const std::lock_guard lock(mutex);
        if (first == nullptr) first = std::current_exception();
      }
      abort_with(mesh, std::current_exception());
      mesh.leave("its body failed");
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(meshes.size());
  try {
    for (Mesh& mesh : meshes) threads.emplace_back([&run, &mesh] { run(mesh); });
  } catch (const std::exception& error) {
    const std::size_t num_started = threads.size();
    for (std::size_t rank = num_started; rank < meshes.size(); ++rank) {
      meshes[rank].leave("the system gave no thread for it");
    }
    for (std::thread& thread : threads) thread.join();
    throw Error(ErrorCode::kOutOfMemory, cat("the system gave ", num_started, " of ", meshes.size(),
                                             " threads for the ranks: ", error.what()));
  }
  for (std::thread& thread : threads) thread.join();
  if (first != nullptr) std::rethrow_exception(first);
}

}  // namespace cmm
