#include "cmm/mesh.hpp"

#include <exception>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "base/integers.hpp"
#include "base/text.hpp"
#include "cmm/error.hpp"
#include "transport/threads/group.hpp"
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
      const auto group = std::make_shared<transport::threads::Group>(axis.size);
      for (int i = 0; i < axis.size; ++i) {
        meshes[static_cast<std::size_t>(first + i * stride)].endpoints_.push_back(
            transport::threads::make_endpoint(group, i));
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

void Mesh::abort(const std::string& reason) {
  for (const auto& endpoint : endpoints_) {
    endpoint->fail(Error(ErrorCode::kPeerFailed,
                         cat("rank ", endpoint->rank(), " left the call: ", reason),
                         endpoint->rank()));
  }
}

void run_ranks(const std::vector<AxisSize>& axes, const std::function<void(Mesh&)>& body) {
  std::vector<Mesh> meshes = Mesh::threads(axes);
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&](Mesh& mesh) {
    try {
      body(mesh);
    } catch (...) {
      // Recorded before the peers learn of it, so that the first failure stays the first.
      std::string reason = "an exception of unknown type";
      {
        const std::lock_guard lock(mutex);
        if (first == nullptr) first = std::current_exception();
      }
      try {
        throw;
      } catch (const std::exception& error) {
        reason = error.what();
      } catch (...) {
      }
      mesh.abort(reason);
    }
    // The rank leaves its axes: a peer that comes to wait for it learns so at once.
    const Mesh left = std::move(mesh);
  };
  std::vector<std::thread> threads;
  threads.reserve(meshes.size());
  try {
    for (Mesh& mesh : meshes) threads.emplace_back([&run, &mesh] { run(mesh); });
  } catch (const std::system_error& error) {
    const std::string text = cat("the system gave ", threads.size(), " of ", meshes.size(),
                                 " threads for the ranks: ", error.what());
    meshes[threads.size()].abort(text);
    for (std::thread& thread : threads) thread.join();
    throw Error(ErrorCode::kOutOfMemory, text);
  }
  for (std::thread& thread : threads) thread.join();
  if (first != nullptr) std::rethrow_exception(first);
}

}  // namespace cmm
